import { parse } from 'csv-parse/sync';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import type { StoredEvent } from '../log/event.js';
import type { LoggedRow } from '../log/event-row.js';
import { FORMATS, type FormatName, type FormatOptions } from './export-formats.js';
import { FLAT_COLUMNS } from './flat-columns.js';

const conversion = event(1, 'conversion.received.v1', {
  data: {
    conversionId: '0198',
    event: 'purchase',
    value: 19.99,
    currency: 'EUR',
    orderId: 'ORD "1", second',
    occurredAt: '2026-03-01T00:30:00.5Z',
    consent: 'granted',
    trial: false,
    bot: { score: 12 },
  },
  personal: {
    subject: 'ab',
    clickIds: { gclid: 'one', ScCid: 'two', fbp: 'three' },
    visit: { clicks: { gclid: { id: 'one', timeMs: 1 } }, utm: { source: 'google', campaign: '' } },
  },
});
const visit = event(2, 'visitor.visited.v1', {
  data: { clicks: ['gclid', 'fbclid'], consent: { ad_storage: 'granted', ad_user_data: 'denied' } },
  personal: { subject: 'cd', utm: { medium: 'cpc' } },
});
const outcome = event(3, 'conversion.deferred.v1', {
  data: {
    platform: 'meta:second',
    status: 'deferred',
    reason: 'busy',
    attempt: 2,
    nextTry: '2026-03-02T00:00:00.000Z',
  },
  personal: null,
});
const odd = event(4, 'test.odd.v1', {
  data: { value: 'much', attempt: 1.5, event: 7, nextTry: 'soon' },
  personal: null,
});
const EVENTS = [conversion, visit, outcome, odd];
const copied: StoredEvent = {
  ...event(5, 'test.copied.v1', { data: {}, personal: null }),
  origin: 3_000_000_001,
};

describe('the flat columns', () => {
  it('have the same names and one type in ndjson, whatever the events hold', () => {
    const lines = textOf('ndjson', { flat: true })
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    for (const line of lines) {
      expect(Object.keys(line)).toEqual(Object.keys(lines[0]));
      expect(typeof line.data).toBe('string');
    }
    expect(JSON.parse(lines[0].data)).toEqual(conversion.data);
    expect(lines[0]).toMatchObject({
      order_id: 'ORD "1", second',
      event: 'purchase',
      value: 19.99,
      currency: 'EUR',
      occurred_at: '2026-03-01T00:30:00.500Z',
      consent: 'granted',
      consent_ad_storage: null,
      trial: false,
      bot_score: 12,
      click_kind: 'gclid,sccid',
      utm_source: 'google',
      utm_campaign: '',
      utm_medium: null,
      platform: null,
    });
    expect(lines[1]).toMatchObject({
      consent: null,
      consent_ad_storage: 'granted',
      consent_ad_user_data: 'denied',
      click_kind: 'fbclid,gclid',
      utm_medium: 'cpc',
    });
    expect(lines[2]).toMatchObject({
      platform: 'meta:second',
      outcome: 'deferred',
      reason: 'busy',
      attempt: 2,
      next_try: '2026-03-02T00:00:00.000Z',
      personal: null,
    });
    expect(lines[3]).toMatchObject({ value: null, attempt: null, event: null, next_try: null });
  });

  it('have the score of a detected bot, and what a push ended in', () => {
    const value = (name: string, type: string, data: object) =>
      FLAT_COLUMNS.find((column) => column.name === name)?.of(event(1, type, { data, personal: null }));
    expect(value('bot_score', 'visitor.bot_detected.v1', { visit: '0198', score: 80, mode: 'enforce' })).toBe(80);
    expect(value('outcome', 'outbound.delivered.v1', { attempt: 1 })).toBe('delivered');
    expect(value('outcome', 'outbound.failed.v1', { attempt: 1, reason: 'HTTP 500' })).toBe('failed');
    expect(value('outcome', 'outbound.closed.v1', {})).toBeNull();
  });

  it('are left out of ndjson and CSV unless they are asked for', () => {
    expect(JSON.parse(textOf('ndjson').split('\n')[1] as string)).toEqual(visit);
    expect(textOf('csv').split('\r\n')[0]).toBe('position,id,type,stream,version,site,time,actor,data,personal');
  });
});

describe('CSV', () => {
  it('has an empty cell for null and quotes for an empty text', () => {
    const [header = '', first = '', , third = ''] = textOf('csv', { flat: true }).split('\r\n');
    expect(header.split(',').slice(10)).toEqual(FLAT_COLUMNS.map(({ name }) => name));
    expect(first).toMatch(/,"ORD ""1"", second",purchase,19\.99,EUR,2026-03-01T00:30:00\.500Z,,false,/);
    // utm_source, utm_medium, utm_campaign, utm_term, utm_content, utm_id, origin, event_id
    expect(first).toMatch(/,google,,"",,,,,$/);
    expect(third).not.toContain('null');
  });
});

describe('CSV that a spreadsheet opens', () => {
  it('has no cell that is run as a formula, and numbers as they are', () => {
    const formulas = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1'];
    for (const orderId of formulas) {
      const text = textOf('csv', { flat: true }, [
        event(1, 'test.odd.v1', { data: { orderId, value: -1 }, personal: { utm: { source: orderId } } }),
      ]);
      const cells = (parse(text) as string[][])[1] ?? [];
      expect(cells.filter((cell) => /^[=+\-@\t\r]/.test(cell))).toEqual(['-1']);
      expect(cells.filter((cell) => cell === `'${orderId}`)).toHaveLength(2);
      expect(JSON.parse(cells[8] as string)).toEqual({ orderId, value: -1 });
    }
  });
});

describe('the place of a copied event in the order of its site', () => {
  it('is in ndjson, in the flat columns and in Parquet, and null in those for events that were not copied', async () => {
    expect(JSON.parse(textOf('ndjson', {}, [copied]))).toMatchObject({ origin: 3_000_000_001 });
    const flat = textOf('ndjson', { flat: true }, [copied, odd])
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(flat.map(({ origin }) => origin)).toEqual([3_000_000_001, null]);
    expect(Object.keys(flat[0])).toEqual(Object.keys(flat[1]));
    expect(textOf('csv', { flat: true }, [copied])).toMatch(/,3000000001,\r?\n$/);
    const rows = await parquetReadObjects({ file: bytesOf('parquet', {}, [copied, odd]) });
    expect(rows.map(({ origin }) => origin)).toEqual([3_000_000_001n, null]);
  });
});

describe('Parquet', () => {
  it('has typed columns: times in UTC, exact decimals and dictionaries', async () => {
    const many = Array.from({ length: 50 }, () => EVENTS).flat();
    const bytes = bytesOf('parquet', {}, many);
    const { schema, row_groups } = parquetMetadata(bytes);
    const element = (name: string) => schema.find((each) => each.name === name);
    expect(element('time')?.logical_type).toEqual({ type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' });
    expect(element('occurred_at')?.logical_type).toEqual(element('time')?.logical_type);
    expect(element('value')?.logical_type).toEqual({ type: 'DECIMAL', precision: 38, scale: 9 });
    const encodings = Object.fromEntries(
      (row_groups[0]?.columns ?? []).map(({ meta_data }) => [meta_data?.path_in_schema[0], meta_data?.encodings]),
    );
    for (const name of ['type', 'site', 'event', 'platform', 'utm_source'])
      expect([name, encodings[name]]).toEqual([name, ['RLE_DICTIONARY']]);
    const time = row_groups[0]?.columns[6]?.meta_data?.statistics;
    expect([time?.min_value, time?.max_value]).toEqual([new Date(conversion.time), new Date(odd.time)]);

    const rows = await parquetReadObjects({ file: bytes });
    expect(rows).toHaveLength(200);
    expect(rows[0]).toMatchObject({
      position: 1n,
      time: new Date(conversion.time),
      data: conversion.data,
      personal: conversion.personal,
      event: 'purchase',
      occurred_at: new Date('2026-03-01T00:30:00.500Z'),
      trial: false,
      utm_campaign: '',
    });
    expect(rows[0]?.['value']).toBeCloseTo(19.99, 9);
    expect(rows[3]).toMatchObject({ personal: null, event: null, value: null });
  });

  it('has bounds of texts in the order of their UTF-8 bytes, or none', () => {
    const texts = ['🎉セール', 'ＳＡＬＥ', 'abc'];
    const bounds = (some: readonly string[]) => {
      const bytes = bytesOf(
        'parquet',
        {},
        some.map((text, at) => event(at + 1, 'test.odd.v1', { data: { event: text }, personal: null })),
      );
      const chunk = parquetMetadata(bytes).row_groups[0]?.columns.find(
        ({ meta_data }) => meta_data?.path_in_schema[0] === 'event',
      );
      const { min_value, max_value } = chunk?.meta_data?.statistics ?? {};
      return [min_value, max_value];
    };
    expect(bounds(texts)).toEqual([undefined, undefined]);
    expect(bounds(texts.slice(1))).toEqual(['abc', 'ＳＡＬＥ']);
  });

  it('continues a file of an earlier process, and refuses one with other columns', async () => {
    const before = FORMATS.parquet();
    before.add(rowOf(conversion));
    const first = before.take();
    const state = JSON.parse(JSON.stringify(before.state()));
    const after = FORMATS.parquet({ isResumed: true, state });
    after.add(rowOf(visit));
    const bytes = joined([first, after.take(), after.end()]);
    expect((await parquetReadObjects({ file: bytes })).map(({ position }) => position)).toEqual([1n, 2n]);
    const earlier = { offset: 4, rows: { $number: '1' }, rowGroups: [{ columns: [{}], num_rows: { $number: '1' } }] };
    expect(() => FORMATS.parquet({ isResumed: true, state: earlier })).toThrow(/has other columns\. Remove it/);
  });
});

describe('an export without personal data', () => {
  it.each(['ndjson', 'csv', 'parquet'] as const)('has none in %s, also not in the flat columns', (format) => {
    const named = event(5, 'conversion.failed.v1', {
      data: { orderId: 'ada@example.com', reason: 'unknown: bob@example.com' },
      personal: null,
    });
    const bytes = bytesOf(format, { flat: true, personal: false }, [...EVENTS, named]);
    const text = Buffer.from(bytes).toString('latin1');
    expect(text).toContain('conversion.received.v1');
    for (const value of ['subject', 'google', 'cpc', 'sccid', 'ada@', 'bob@'])
      expect([value, text.includes(value)]).toEqual([value, false]);
  });
});

describe('an export of deliveries', () => {
  const [plain, keyed] = ['ab'.repeat(32), 'a-_4'.repeat(11).slice(0, 43)];
  const attempts = [plain, keyed].map((bodySha256, index) =>
    event(index + 1, 'conversion.delivered.v1', { data: { status: 'delivered', bodySha256 }, personal: null }),
  );

  it.each<FormatOptions>([{}, { personal: false }, { flat: true }])(
    'shows no plain digest of a payload, with %j',
    async (options) => {
      const rows = await parquetReadObjects({ file: bytesOf('parquet', options, attempts) });
      for (const text of [
        textOf('ndjson', options, attempts),
        textOf('csv', options, attempts),
        JSON.stringify(rows.map(({ data }) => data)),
      ])
        expect([text.includes(plain), text.includes(keyed)]).toEqual([false, true]);
    },
  );
});

function event(position: number, type: string, parts: { data: object; personal: object | null }): StoredEvent {
  const time = `2026-03-01T10:00:0${position}.123Z`;
  const envelope = { position, id: `id-${position}`, type, stream: `s-${position}`, version: 1, site: 'shop.example' };
  return { ...envelope, time, actor: 'system', ...parts } as never;
}

function rowOf(stored: StoredEvent): LoggedRow {
  const { position, type } = stored;
  const dataText = JSON.stringify(stored.data);
  const writeLine: LoggedRow['writeLine'] = (lines) => lines.text(`${JSON.stringify(stored)}\n`);
  return { position, type, dataText, event: () => stored, writeLine };
}

function bytesOf(name: FormatName, options: FormatOptions = {}, events: readonly StoredEvent[] = EVENTS): ArrayBuffer {
  const format = FORMATS[name](options);
  for (const each of events) format.add(rowOf(each));
  return joined([format.take(), format.end()]);
}

function joined(parts: readonly Uint8Array[]): ArrayBuffer {
  return new Uint8Array(Buffer.concat(parts)).buffer;
}

function textOf(name: FormatName, options: FormatOptions = {}, events = EVENTS): string {
  return Buffer.from(bytesOf(name, options, events)).toString();
}
