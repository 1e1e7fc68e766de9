import { parseDefinition } from './parse-definition.js';
import { shippedDefinition, shippedNames } from './shipped.js';

const VALID = `name: crm
settings:
  account: { required: true, help: Your account. }
  key: { required: true, secret: true, help: Your key. }
url: https://api.crm.example/v1/{account}/events
authentication: { type: bearer, secret: key }
body:
  id: /event_id
  type: "'conversion'"
`;

const parse = (text: string) => parseDefinition(text, 'crm.yaml');
/** The valid definition with a line in place of another, or at its end. */
const changed = (line: string, by: string) => {
  if (line !== '' && !VALID.includes(line)) throw new Error(`There is no line "${line}"`);
  return line === '' ? VALID + by : VALID.replace(line, by);
};

describe('a definition', () => {
  it('is read from YAML and from JSON', () => {
    const yaml = parse(VALID);
    expect(yaml).toMatchObject({ name: 'crm', label: 'crm', batchMax: 1, customerAddress: true });
    expect(yaml.fields.map(({ name, secret = false }) => [name, secret])).toEqual([
      ['account', false],
      ['key', true],
    ]);
    expect(parse(JSON.stringify(JSON.parse(yaml.definition ?? ''), null, 2)).definition).toBe(yaml.definition);
  });

  it.each(shippedNames())('of %s is valid, and has the name of its file', (name) => {
    expect(parse(shippedDefinition(name) ?? '').name).toBe(name);
  });

  it.each<[string, string, string]>([
    ['name: crm', 'name: CRM', 'crm.yaml:1: name: must be 1 to 32 characters'],
    ['name: crm', 'name: meta', 'crm.yaml:1: name: meta is a platform that is built in'],
    ['name: crm', 'name: __proto__', 'crm.yaml:1: name: must be'],
    ['url: https://api.crm', 'url: http://api.crm', 'crm.yaml:5: url: must be an address that starts with https://'],
    ['url: https://api.crm', 'url: https://user:pw@api.crm', 'crm.yaml:5: url: must not contain user and password'],
    ['{account}', '{key}', 'crm.yaml:5: url: {key} is no setting of the definition that is not secret'],
    ['{account}', '{other}', 'crm.yaml:5: url: {other} is no setting'],
    ['secret: key', 'secret: account', 'crm.yaml:6: authentication.secret: account must be a secret setting'],
    ['secret: key', 'secret: other', 'crm.yaml:6: authentication.secret: other is no setting'],
    ['type: bearer', 'type: magic', 'crm.yaml:6: authentication'],
    [
      'required: true, secret: true',
      'secret: true',
      'crm.yaml:6: authentication.secret: key must be a required setting',
    ],
    ['id: /event_id', 'id: /eventId', 'crm.yaml:8: body.id: /eventId is no value of a conversion'],
    ['id: /event_id', 'id: /hashes/mail', 'crm.yaml:8: body.id: /hashes/mail is no value of a conversion'],
    ['id: /event_id', 'id: /settings/key', 'crm.yaml:8: body.id: /settings/key is no setting'],
    ['id: /event_id', 'id: /event_id | eval', 'crm.yaml:8: body.id: "eval" is no transform'],
    ['id: /event_id', '__proto__: /event_id', 'crm.yaml: __proto__ is no name of a field'],
    ['id: /event_id', 'id: { $each: /items, $of: /sku }', 'crm.yaml:8: body.id.$of: An item has /id'],
    ['id: /event_id', 'id: { $each: /items }', 'crm.yaml:8: body.id: $each takes'],
    ['id: /event_id', 'id: &a /event_id\n  id2: *a', 'crm.yaml:9: anchors and aliases are not supported'],
    ['id: /event_id', 'id: /event_id\n  id: /value', 'crm.yaml:9: Map keys must be unique'],
    ['id: /event_id', 'id: [', 'crm.yaml:'],
    [`"'conversion'"`, 'conversion', 'in YAML a text needs both quotes'],
    ['', 'consent: marked\n', 'crm.yaml:10: consent: is "marked", but the body does not read /consent'],
    ['', 'retries: 5\n', 'crm.yaml:10: retries: is no part of a definition'],
    [
      'type: bearer, secret: key',
      'type: header, header: Host, secret: key',
      'crm.yaml:6: authentication.header: Host is set',
    ],
    ['', 'headers: { Host: evil.example }\n', 'crm.yaml:10: headers.Host: is set by the service'],
    ['', 'headers: { x-account: "{key}" }\n', 'crm.yaml:10: headers.x-account: {key} is no setting'],
    ['', 'rate_limit: { requests: 0, per: 1s }\n', 'crm.yaml:10: rate_limit.requests: '],
    ['', 'rate_limit: { requests: 5, per: 2h }\n', 'crm.yaml:10: rate_limit.per: must be at most 1h'],
    ['', 'rate_limit: { requests: 5, per: soon }\n', 'crm.yaml:10: rate_limit.per: must be a duration'],
    ['', 'identifiers: [email, /clicks]\n', 'crm.yaml:10: identifiers.1: must be email, phone'],
    ['id: /event_id', 'id: { $keep: no, a: /value }', 'crm.yaml:8: body.id.$keep: must be true'],
    ['', 'dedup_window: soon\n', 'crm.yaml:10: dedup_window: must be a duration'],
    ['', 'batch: { max: 1 }\n', 'crm.yaml:10: batch.max: '],
    ['', 'batch: { max: 5, body: { key: /settings/account } }\n', 'crm.yaml:10: batch.body: must contain /batch once'],
    ['', 'batch: { max: 5, body: { a: /batch, b: /value } }\n', 'crm.yaml:10: batch.body.b: reads /batch'],
    ['', 'success: { when: /ok }\n', 'crm.yaml:10: success.when: takes a JSON pointer and values'],
    ['', 'errors:\n  - means: reject\n', 'crm.yaml:11: errors.0: needs status or when'],
    ['', 'errors:\n  - { status: [4xx], means: reject }\n', 'crm.yaml:11: errors.0.status.0: must be a status'],
    ['', 'settings: {}\n', 'crm.yaml:10: Map keys must be unique'],
  ])('with %j as %j is refused by its line', (line, by, message) => {
    expect(() => parse(changed(line, by))).toThrow(message);
  });

  it('names every problem at once', () => {
    const text = changed('id: /event_id', 'id: /nothing').replace('{account}', '{other}');
    expect(() => parse(text)).toThrow(/crm\.yaml:8: [^\n]+\ncrm\.yaml:5: /);
  });

  it('has a bounded size', () => {
    const wide = Array.from({ length: 500 }, (_, index) => `  a${index}: 1\n`).join('');
    expect(() => parse(VALID + wide)).toThrow('is too large: at most 400 values, 12 deep');
    expect(() => parse(`${VALID}  long: "'${'x'.repeat(20_000)}'"\n`)).toThrow('is larger than 16 KiB');
    expect(() => parse(`${VALID}  deep: ${'['.repeat(40)}1${']'.repeat(40)}\n`)).toThrow('is too large');
    expect(() => parse('x'.repeat(70_000))).toThrow('is larger than 16 KiB');
  });
});
