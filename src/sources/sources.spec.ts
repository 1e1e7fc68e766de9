import { type Fixture, fixtureNames, readFixture } from './fixtures.js';
import { applyMapping } from './mapping/apply.js';
import { compileMapping, readPointers } from './mapping/compile.js';
import { sentValues, valuesStored, valuesToStore } from './mapping/delivery-values.js';
import type { Source } from './source.js';
import { SOURCES } from './sources.js';

const SECRET = 'a-signing-secret';
const NOW = Date.parse('2026-03-01T12:00:00Z');
const PERSON = ['email', 'phone', 'firstName', 'lastName'];

const fixtures = SOURCES.flatMap((source) =>
  fixtureNames(source.name).map((name) => [source, readFixture(source.name, name) as Fixture, name] as const),
);
const signed = (source: Source, { topic, raw }: Fixture, secret = SECRET, at = NOW) => ({
  headers: lowerCase(source.sign(topic, Buffer.from(raw), secret, at, 'delivery-1')),
  body: Buffer.from(raw),
});

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

describe('a source', () => {
  it('has documented deliveries for the topics that it is made for', () => {
    const topics = fixtures.map(([{ name }, { topic }]) => `${name} ${topic}`);
    expect(topics).toEqual(
      expect.arrayContaining([
        ...['orders/paid', 'orders/create', 'refunds/create'].map((topic) => `shopify ${topic}`),
        ...['checkout.session.completed', 'payment_intent.succeeded', 'charge.refunded'].map(
          (topic) => `stripe ${topic}`,
        ),
        ...['order.created', 'order.updated'].map((topic) => `woocommerce ${topic}`),
        'segment Order Completed',
      ]),
    );
  });

  it('has rules that can be read', () => {
    for (const { mapping } of SOURCES) expect(() => compileMapping(mapping)).not.toThrow();
  });
});

describe.each(fixtures)('%# $name', (source, fixture, name) => {
  const delivery = signed(source, fixture);
  const values = sentValues(JSON.parse(fixture.raw), delivery.body);
  const topic = compileMapping(source.mapping).get(fixture.topic);

  it(`${source.name} ${name} is verified by its signature and says what it is about`, () => {
    expect(source.verify(delivery, SECRET, NOW)).toBeUndefined();
    expect(source.head(delivery, fixture.body)).toMatchObject({ topic: fixture.topic });
  });

  it(`${source.name} ${name} is refused with another secret, another body or without a signature`, () => {
    expect(source.verify(delivery, `${SECRET}x`, NOW)).toBe('signature');
    const isBearer = source.name === 'segment';
    expect(source.verify({ ...delivery, body: Buffer.from(`${fixture.raw} `) }, SECRET, NOW)).toBe('signature');
    expect(source.verify({ headers: {}, body: delivery.body }, SECRET, NOW)).toBe('signature_missing');
    if (isBearer)
      expect(source.verify({ headers: { authorization: 'Bearer x' }, body: delivery.body }, SECRET, NOW)).toBe(
        'signature',
      );
  });

  it(`${source.name} ${name} becomes the documented conversion`, () => {
    const mapped = applyMapping(topic as NonNullable<typeof topic>, values);
    expect(mapped).toHaveProperty('body');
    const { body } = mapped as { body: Record<string, unknown> };
    const { occurredAt, currency, items, ...others } = fixture.conversion;
    expect({ ...body, orderId: String(body['orderId']) }).toMatchObject(others);
    expect(String(body['currency']).toUpperCase()).toBe(currency);
    expect(body['items']).toEqual(items === undefined ? undefined : expect.any(Array));
    expect(body).toHaveProperty('occurredAt');
    expect(occurredAt).toMatch(/Z$/);
  });

  it(`${source.name} ${name} gives the same conversion, without the person, from what is stored`, () => {
    const rules = topic as NonNullable<typeof topic>;
    const stored = valuesToStore(readPointers([rules]), values, (text) => text);
    const again = applyMapping(rules, valuesStored(JSON.parse(JSON.stringify(stored))));
    const { body } = applyMapping(rules, values) as { body: Record<string, unknown> };
    const kept = rules.rules.filter(({ kind }) => kind === 'plain').map(({ field }) => field);
    const expected = Object.fromEntries(
      Object.entries(body).filter(([field]) => kept.includes(field) || field === 'items'),
    );
    const { body: found } = again as { body: Record<string, unknown> };
    expect(
      Object.fromEntries(Object.entries(found).filter(([field]) => kept.includes(field) || field === 'items')),
    ).toEqual(expected);
    const text = JSON.stringify(stored);
    for (const field of PERSON) if (typeof body[field] === 'string') expect(text).not.toContain(`"${body[field]}"`);
  });
});

describe('the signature of Stripe', () => {
  const [, fixture] = fixtures.find(([{ name }]) => name === 'stripe') as (typeof fixtures)[number];
  const stripe = SOURCES.find(({ name }) => name === 'stripe') as Source;

  it.each([
    [299, undefined],
    [301, 'expired'],
    [-301, 'expired'],
  ])('made %d seconds ago is %s', (ageS, expected) => {
    expect(stripe.verify(signed(stripe, fixture, SECRET, NOW - ageS * 1_000), SECRET, NOW)).toBe(expected);
  });

  it('may be one of several', () => {
    const { headers, body } = signed(stripe, fixture);
    const header = `${headers['stripe-signature']},v1=${'0'.repeat(64)},v0=x`;
    expect(stripe.verify({ headers: { 'stripe-signature': header }, body }, SECRET, NOW)).toBeUndefined();
  });

  it('covers its time', () => {
    const { headers, body } = signed(stripe, fixture, SECRET, NOW - 900_000);
    const header = headers['stripe-signature']?.replace(/t=\d+/, `t=${NOW / 1_000}`);
    expect(stripe.verify({ headers: { 'stripe-signature': header }, body }, SECRET, NOW)).toBe('signature');
  });
});
