import { parse } from 'csv-parse/sync';
import { parquetReadObjects } from 'hyparquet';
import { InMemoryLog } from '../../../test/support/in-memory-log.js';
import type { StoredEvent } from '../../log/event.js';
import type { EventLog } from '../../log/event-log.js';
import { type FormatName, tableFormat } from '../export-formats.js';
import { conversionColumns, exportConversions, type TableProgress, toConversionRow } from './conversion-table.js';

const CONNECTIONS = ['google_ads', 'meta', 'meta:second'];
const EVENTS = [
  event(1, 'conversion.received.v1', {
    data: {
      ...{ conversionId: '0198', event: 'purchase', value: 19.99, currency: 'EUR', orderId: '=1', trial: false },
      platforms: ['google_ads', 'meta', 'meta:second'],
    },
    personal: { subject: 'ab', visit: { clicks: { gclid: { id: 'one', timeMs: 1 } }, utm: { campaign: 'spring' } } },
  }),
  event(2, 'conversion.deferred.v1', { data: outcome('meta', 'deferred', 1, 'busy for jane@example.com') }),
  event(3, 'conversion.skipped.v1', { data: outcome('google_ads', 'skipped', 1, 'too_old') }),
  event(4, 'conversion.delivered.v1', { data: outcome('meta', 'delivered', 2) }),
];

describe('the table of conversions', () => {
  it('has a column per connection with the newest status, and the reasons', async () => {
    expect(await rowsOf('ndjson')).toEqual([
      expect.objectContaining({
        ...{
          time: '2026-03-01T10:00:01.000Z',
          site: 'shop.example',
          conversion_id: '0198',
          order_id: '=1',
          value: 19.99,
        },
        ...{ google_ads: 'skipped', meta: 'delivered', 'meta:second': 'queued', reasons: '{"google_ads":"too_old"}' },
        ...{ click_kind: 'gclid', utm_campaign: 'spring' },
      }),
    ]);
  });

  it('has the same columns in every format, and no formula in CSV', async () => {
    const [[line], [csv], [parquet]] = [await rowsOf('ndjson'), await rowsOf('csv'), await rowsOf('parquet')];
    expect(Object.keys(csv as object)).toEqual(Object.keys(line as object));
    expect(Object.keys(parquet as object)).toEqual(Object.keys(line as object));
    expect(csv).toMatchObject({ order_id: "'=1", value: '19.99', trial: 'false', meta: 'delivered' });
    expect(parquet).toMatchObject({ order_id: '=1', trial: false, meta: 'delivered', 'meta:second': 'queued' });
  });

  it('tells nothing about people without personal parts', async () => {
    const waiting = EVENTS.slice(0, 2);
    expect(await rowsOf('ndjson', waiting)).toMatchObject([{ reasons: '{"meta":"busy for jane@example.com"}' }]);
    const [row] = await rowsOf('ndjson', waiting, false);
    expect(row).toMatchObject({ click_kind: null, utm_campaign: null, meta: 'deferred' });
    expect(JSON.stringify(row)).not.toContain('jane');
  });
});

describe('the export of conversions', () => {
  const log = new InMemoryLog();
  const table = { range: { after: 0, until: 0 }, site: 'shop.example', connections: ['meta'] };
  const reader = log as unknown as EventLog;

  beforeAll(async () => {
    for (let index = 0; index < 2_010; index += 1) {
      const conversionId = `c-${index}`;
      const of = { category: 'conversion', stream: conversionId, expected: 'any', site: 'shop.example' } as const;
      const data = { conversionId, event: 'purchase', orderId: `ORD-${index}`, platforms: ['meta'], trial: false };
      const status = index % 3 === 0 ? 'failed' : 'delivered';
      const events = [
        { type: 'conversion.received.v1', data },
        { type: `conversion.${status}.v1`, data: { conversionId, platform: 'meta', status, attempt: 1 } },
      ] as never;
      await log.append({ ...of, actor: 'system', events });
    }
    table.range.until = await log.head();
  });

  it.each(['csv', 'ndjson', 'parquet'] as const)(
    'continues a file as %s that another process began',
    async (format) => {
      const pages: { bytes: Uint8Array; progress: TableProgress }[] = [];
      const filter = { outcome: 'refused' } as const;
      const write = async (bytes: Uint8Array, progress: TableProgress) =>
        void pages.push({ bytes: Buffer.from(bytes), progress });
      const run = { ...table, format, filter, write, progress: () => {} };
      expect(await exportConversions(reader, run)).toBe(670);
      const bytesOf = () => Buffer.concat(pages.map(({ bytes }) => bytes));
      const whole = bytesOf();
      expect(await parsed(format, whole)).toHaveLength(670);
      for (const from of [1, 2, pages.length]) {
        pages.splice(from);
        const resumeFrom = JSON.parse(JSON.stringify(pages.at(-1)?.progress));
        expect(await exportConversions(reader, { ...run, resumeFrom })).toBe(670);
        expect(bytesOf().equals(whole)).toBe(true);
      }
    },
  );

  it('has conversions that were not counted, and says so', async () => {
    const stream = { category: 'conversion', stream: 'c-f', expected: 'any', site: 'shop.example' } as const;
    const data = { conversionId: 'c-f', event: 'purchase', orderId: 'ORD-F', reason: 'bot' };
    const events = [{ type: 'conversion.filtered.v1', data }] as never;
    await log.append({ ...stream, actor: 'system', events });
    const range = { after: table.range.until, until: await log.head() };
    let text = '';
    const write = async (bytes: Uint8Array) => {
      text += Buffer.from(bytes).toString();
    };
    await exportConversions(reader, { ...table, range, format: 'ndjson', filter: {}, write, progress: () => {} });
    expect(JSON.parse(text)).toMatchObject({ order_id: 'ORD-F', status: 'filtered', meta: null });
  });
});

async function rowsOf(name: FormatName, events = EVENTS, personal = true): Promise<unknown[]> {
  const format = tableFormat(name, conversionColumns(CONNECTIONS));
  format.add(toConversionRow(events, { personal }));
  const bytes = Buffer.concat([format.take(), format.end()]);
  return parsed(name, bytes);
}

async function parsed(name: FormatName, bytes: Buffer): Promise<unknown[]> {
  if (name === 'csv') return parse(bytes, { columns: true });
  if (name === 'ndjson')
    return bytes
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  return parquetReadObjects({ file: Uint8Array.from(bytes).buffer });
}

function outcome(platform: string, status: string, attempt: number, reason?: string): object {
  return { conversionId: '0198', platform, status, attempt, ...(reason !== undefined && { reason }) };
}

function event(position: number, type: string, content: { data: object; personal?: object }): StoredEvent {
  const stream = 'conversion-0198';
  const time = `2026-03-01T10:00:0${position}.000Z`;
  const envelope = { position, id: `id-${position}`, stream, version: position, site: 'shop.example', time };
  return { ...envelope, actor: 'system', type, personal: null, ...content } as never;
}
