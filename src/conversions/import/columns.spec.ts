import { bodySchema } from '../inbound/body-schema.js';
import { COLUMNS_MAX, IMPORT_FIELDS, isImportField, readColumns } from './columns.js';

const NONE: ReadonlyMap<string, string> = new Map();

function columnsOf(header: string[], map = NONE, defaults = NONE): Record<string, number> {
  return Object.fromEntries(readColumns(header, map, defaults).map(({ field, index }) => [field, index]));
}

describe('the columns of a file', () => {
  it('can hold every field of the endpoint', () => {
    const fields = Object.keys(bodySchema({ isStrict: false }).properties).filter((field) => field !== 'custom');
    expect(new Set(IMPORT_FIELDS.map((field) => field.split('.')[0]))).toEqual(new Set(fields));
    expect(IMPORT_FIELDS.every(isImportField)).toBe(true);
    expect(['custom.profit', 'cookies._ga_ABC123'].every(isImportField)).toBe(true);
    expect(['custom.', 'custom', 'cookies.session', 'utm.x', 'constructor'].some(isImportField)).toBe(false);
  });

  it('are recognised without regard to case, spaces and punctuation', () => {
    expect(
      columnsOf([
        ...['E-Mail', 'EVENT', 'order_id', 'First name', 'Occurred At', 'GCLID', 'clickIds.fbp', 'Notes'],
        ...['utm_source', 'ad_storage', 'cookies._fbp', 'Event ID', 'hashed_phone'],
      ]),
    ).toEqual({
      email: 0,
      event: 1,
      orderId: 2,
      firstName: 3,
      occurredAt: 4,
      'clickIds.gclid': 5,
      'clickIds.fbp': 6,
      'utm.source': 8,
      'consent.ad_storage': 9,
      'cookies._fbp': 10,
      eventId: 11,
      hashed_phone: 12,
    });
  });

  it('with a custom value or the session cookie of Google Analytics are recognised by their exact names', () => {
    expect(columnsOf(['email', 'event', 'custom.Profit ', 'cookies._ga_ABC123', 'custom', 'Custom.tax'])).toEqual({
      email: 0,
      event: 1,
      'custom.Profit': 2,
      'cookies._ga_ABC123': 3,
    });
  });

  it('of the template for Google Ads are recognised', () => {
    const header = [
      'Google Click ID',
      'Conversion Name',
      'Conversion Time',
      'Conversion Value',
      'Conversion Currency',
      'Email',
    ];
    expect(columnsOf(header)).toEqual({
      'clickIds.gclid': 0,
      event: 1,
      occurredAt: 2,
      value: 3,
      currency: 4,
      email: 5,
    });
  });

  it('are those that the operator names, before any that would match', () => {
    const map = new Map([
      ['email', 'Kunden-Mail'],
      ['source', ''],
    ]);
    expect(columnsOf(['Email', 'Kunden-Mail', 'event', 'source'], map)).toEqual({ email: 1, event: 2 });
  });

  it('must include an address and an event, or the error names the columns and the option', () => {
    expect(() => columnsOf(['Mail', 'Art'])).toThrow(
      /No column holds email or hashed_email. The file has "Mail", "Art". Name the column with --map email=<column>/,
    );
    expect(() => columnsOf(['email', 'Art'])).toThrow(/No column holds event.*--map event=<column>.*--default event=/);
    expect(columnsOf(['email'], NONE, new Map([['event', 'lead']]))).toEqual({ email: 0, event: -1 });
  });

  it('must be unambiguous', () => {
    expect(() => columnsOf(['email', 'E-Mail', 'event'])).toThrow('"email" and "E-Mail" both mean email');
  });

  it('that the operator names must exist', () => {
    expect(() => columnsOf(['email', 'event'], new Map([['value', 'Betrag']]))).toThrow(
      /--map value=Betrag: there is no such/,
    );
  });

  it('are limited in number', () => {
    expect(() => columnsOf(Array.from({ length: COLUMNS_MAX + 1 }, (_, at) => `c${at}`))).toThrow('1001 columns');
  });

  it('of a file without a header show no address in the error', () => {
    expect(() => columnsOf(['jane@example.com', 'purchase'])).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('jane') }),
    );
  });

  it('need an email, unless the site knows people by something else that a column holds', () => {
    const read = (field: string, withoutEmail: boolean) => () =>
      readColumns([field, 'event'], NONE, NONE, withoutEmail);
    for (const field of ['phone', 'hashed_phone', 'externalId', 'gclid', 'pageUrl']) {
      expect(read(field, false)).toThrow(/No column holds email/);
      expect(read(field, true)).not.toThrow();
    }
    expect(read('firstName', true)).toThrow(/^No column holds an email, phone, externalId or click id\. The file has/);
  });
});
