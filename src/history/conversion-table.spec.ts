import { parse } from 'csv-parse/sync';
import { parquetReadObjects } from 'hyparquet';
import type { StoredEvent } from '../log/event.js';
import { conversionColumns, toConversionRow } from './conversion-table.js';
import { type FormatName, tableFormat } from './export-formats.js';

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

async function rowsOf(name: FormatName, events = EVENTS, personal = true): Promise<unknown[]> {
  const format = tableFormat(name, conversionColumns(CONNECTIONS));
  format.add(toConversionRow(events, { personal }));
  const bytes = Buffer.concat([format.take(), format.end()]);
  if (name === 'csv') return parse(bytes, { columns: true });
  if (name === 'ndjson')
    return bytes
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  return parquetReadObjects({ file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) });
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
