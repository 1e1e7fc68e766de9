import { readDefaults, readRow } from './csv-row.js';
import { readTimeZone, type TimeZone } from './time-zone.js';

const options = {
  map: new Map(),
  defaults: new Map<string, string>(),
  times: { zone: readTimeZone('UTC') as TimeZone },
};

function row(cells: Record<string, string>, defaults: Record<string, string> = {}) {
  const columns = Object.keys(cells).map((field, index) => ({ field, index }));
  return readRow(Object.values(cells), columns, { ...options, defaults: new Map(Object.entries(defaults)) });
}

describe('a row of a CSV file', () => {
  it('becomes the body that the endpoint would get', () => {
    const cells = {
      email: ' Jane@Example.com ',
      event: 'purchase',
      value: '129,90',
      currency: 'EUR',
      orderId: '0001',
      occurredAt: '01.03.2026 11:15',
      'clickIds.gclid': 'abc',
      'clickIds.fbp': '',
      items: '[{"id":"SKU-1","quantity":2}]',
      phone: '',
      'custom.profit': '41.5',
      'custom.sku': '007',
      'custom.new': 'true',
      'consent.ad_storage': 'denied',
    };
    expect(row(cells)).toEqual({
      body: {
        email: 'Jane@Example.com',
        event: 'purchase',
        value: 129.9,
        currency: 'EUR',
        orderId: '0001',
        occurredAt: '2026-03-01T11:15:00.000Z',
        clickIds: { gclid: 'abc' },
        items: [{ id: 'SKU-1', quantity: 2 }],
        custom: { profit: 41.5, sku: '007', new: true },
        consent: { ad_storage: 'denied' },
      },
      isZoneless: true,
    });
  });

  it.each([
    [{ orderId: '4,50123E+12' }, 'orderId was shortened by a spreadsheet: export it as text'],
    [{ email: 'a\0b' }, 'email contains a NUL character'],
    [{ firstName: 'J\ufffdrg' }, 'firstName is not valid UTF-8: give --encoding windows-1252'],
    [{ value: 'free' }, 'value must be a non-negative number'],
    [{ value: '12', currency: '' }, 'currency must be an ISO 4217 code'],
    [{ occurredAt: '01/02/2026' }, 'occurredAt is ambiguous: give --date-format dmy or --date-format mdy'],
  ])('%j is rejected', (cells, error) => {
    expect(row(cells as unknown as Record<string, string>)).toEqual({ error });
  });

  it.each([
    ['items', '[{"id":', 'items must be a list in JSON'],
    ['items', '[{"id":1,"id":2}]', 'items must be a list in JSON'],
    ['externalId', '4,50123E+12', 'externalId was shortened by a spreadsheet: export it as text'],
  ])('leaves out %s %j, which is no such value', (field, text, problem) => {
    expect(row({ email: 'a@b.c', [field]: text })).toEqual({
      body: { email: 'a@b.c' },
      dropped: [{ field, problem }],
    });
    expect(() => readDefaults({ ...options, defaults: new Map([[field, text]]) })).toThrow(`--default: ${problem}.`);
  });

  it('gets the defaults where it has no value', () => {
    expect(row({ event: '', currency: 'CHF', value: '5' }, { event: 'lead', currency: 'EUR' })).toMatchObject({
      body: { event: 'lead', currency: 'CHF', value: 5 },
    });
  });

  it('refuses a default that would reject every line', () => {
    expect(() => readDefaults({ ...options, defaults: new Map([['value', 'x']]) })).toThrow('--default: value must be');
  });
});
