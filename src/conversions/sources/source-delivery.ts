import { hash } from 'node:crypto';
import type { SourceDelivery, StoredDelivery } from '../../events/conversion.events.js';
import type { IgnoredDelivery, IgnoredDeliveryPersonal } from '../../events/inbound.events.js';
import type { Clock } from '../../kernel/clock.js';
import { derivedUuid } from '../../kernel/uuid.js';
import type { PersonalHashes } from '../../platforms/personal-hashes.js';
import type { SiteKey } from '../../sites/site.js';
import type { LoadedSite } from '../../sites/site-directory.js';
import type { LoadedSource } from '../../sites/sources/loaded-source.js';
import { applyMapping, type DeliveryValues, mappedPerson } from '../../sources/mapping/apply.js';
import type { CompiledTopic } from '../../sources/mapping/compile.js';
import { sentValues, valuesStored, valuesToStore } from '../../sources/mapping/delivery-values.js';
import { shapeOf } from '../../sources/mapping/shape.js';
import type { DeliveryHead, RawDelivery } from '../../sources/source.js';
import { storedText } from '../address-digest.js';
import { isCorrection } from '../correction.js';
import { hashPersonal } from '../hash-personal.js';
import { type InboundFields, siteReading } from '../inbound/inbound-field.js';
import { readInboundFields } from '../inbound/inbound-fields.js';
import { keysOf } from '../person.js';

const PERSON: ReadonlySet<string> = new Set([
  'email',
  'hashed_email',
  'phone',
  'hashed_phone',
  'firstName',
  'lastName',
]);

/** An authentic delivery, or one that was stored, without what is personal in it. */
export interface Delivery {
  readonly data: SourceDelivery;
  readonly stored: StoredDelivery;
  readonly topic: CompiledTopic;
  readonly values: DeliveryValues;
  /** What is known about the person. Reading it costs as much as reading the conversion. */
  readonly person: () => DeliveredPerson;
  /** Of one that was stored: the head of the log before it was read. */
  readonly readAt?: number;
}

export type DeliveryDecision =
  | { readonly kind: 'ignored'; readonly reason: string }
  /** Nothing about the person: the order tells who it is. */
  | { readonly kind: 'order'; readonly orderId: string; readonly body: Readonly<Record<string, unknown>> }
  | { readonly kind: 'conversion'; readonly fields: InboundFields; readonly isCorrection: boolean };

/** Undefined if the mapping does not have its topic. */
export function deliveryOf(
  { dedupSecret, site }: LoadedSite,
  source: LoadedSource,
  { topic: name, id, signedId }: DeliveryHead,
  { body }: RawDelivery,
  json: unknown,
  clock: Clock,
  withShape: boolean,
): Delivery | undefined {
  const topic = source.mapping?.get(name);
  const pointers = source.pointers.get(name);
  if (!topic || !pointers) return undefined;
  const values = sentValues(json, body);
  const keep = (text: string) => storedText(dedupSecret, text);
  const identity = JSON.stringify([source.connection.keyId, name, signedId ?? hash('sha256', body)]);
  const data: SourceDelivery = {
    source: source.source.name,
    topic: keep(name),
    ...(id !== undefined && { deliveryId: keep(id.slice(0, 255)) }),
    digest: hash('sha256', dedupSecret + identity).slice(0, 32),
  };
  const stored = { values: valuesToStore(pointers, values, keep), ...(withShape && { shape: shapeOf(json) }) };
  return { data, stored, topic, values, person: () => personIn(mappedPerson(topic, values), site.settings, clock) };
}

/** A delivery that was stored; undefined if the mapping does not have its topic. */
export function storedDelivery(
  { mapping }: LoadedSource,
  data: SourceDelivery,
  personal: IgnoredDeliveryPersonal,
): Delivery | undefined {
  const topic = mapping?.get(data.topic);
  const { delivery: stored, person: _, ...hashes } = personal;
  return topic && stored && { data, stored, topic, values: valuesStored(stored.values), person: () => ({ hashes }) };
}

/** The delivery of an event that states why it is no conversion. */
export function ignoredDelivery({
  keyId: _,
  reason: __,
  conversionId: ___,
  ...delivery
}: IgnoredDelivery): SourceDelivery {
  return delivery;
}

/** What the mapping makes of a delivery. Says nothing about whether the conversion is stored already. */
export function decideDelivery(
  site: LoadedSite,
  { topic, values, person: personOf }: Delivery,
  clock: Clock,
): DeliveryDecision {
  const mapped = applyMapping(topic, values);
  if ('ignored' in mapped) return { kind: 'ignored', reason: mapped.ignored };
  const { body } = mapped;
  const event = typeof body['event'] === 'string' ? body['event'] : '';
  if (mapped.isCorrection && !isCorrection(site, event)) return { kind: 'ignored', reason: 'no_refund_event' };
  if (mapped.isCorrection && !(Number(body['value']) > 0)) return { kind: 'ignored', reason: 'value_missing' };
  const { settings } = site.site;
  // Nearly all say who it is, and everything about the person is valid.
  if (!mapped.isCorrection && typeof body['email'] === 'string') {
    const read = readBody(site, body, clock);
    if (read.kind === 'conversion') return read;
  }
  const person = personOf();
  const { hashes } = person;
  const isKnown = hashes.subject !== undefined || (settings.identifyBy === 'any' && hashes.phone !== undefined);
  const { orderId } = body;
  if (mapped.isCorrection && !isKnown && (typeof orderId === 'string' || typeof orderId === 'number'))
    return { kind: 'order', orderId: String(orderId), body };
  return readDelivery(site, body, person, clock);
}

/** With what is known about the person in place of what was sent about it. */
export function readDelivery(
  site: LoadedSite,
  sent: Readonly<Record<string, unknown>>,
  { hashes, email }: DeliveredPerson,
  clock: Clock,
): DeliveryDecision {
  const body = Object.fromEntries(Object.entries(sent).filter(([name]) => !PERSON.has(name)));
  const known = {
    ...body,
    ...(hashes.subject !== undefined && { hashed_email: hashes.subject }),
    ...(hashes.phone !== undefined && { hashed_phone: hashes.phone }),
  };
  const read = readBody(site, known, clock);
  if (read.kind !== 'conversion') return read;
  return { ...read, fields: { ...read.fields, hashes, ...(email !== undefined && { email }) } };
}

function readBody(loaded: LoadedSite, body: Record<string, unknown>, clock: Clock): DeliveryDecision {
  // A text that is not valid is left out, as of a sender that is not strict: a webhook is not corrected and sent again.
  const reading = readInboundFields(body, { rawBody: '', clock, ...siteReading(loaded.site), isStrict: false });
  if (!reading.ok) return { kind: 'ignored', reason: reading.reason };
  const { fields } = reading;
  const correction = isCorrection(loaded, fields.event);
  if (correction && fields.orderId === undefined) return { kind: 'ignored', reason: 'orderId_missing' };
  return { kind: 'conversion', fields, isCorrection: correction };
}

/** Id of the conversion of an order, whatever delivery it is made of; of a correction, or without an order, that of the delivery. */
export function conversionIdOf(
  { dedupSecret }: LoadedSite,
  { id: keyId, trial }: SiteKey,
  { digest }: SourceDelivery,
  { event, orderId }: InboundFields,
  correction: boolean,
): string {
  const identity = orderId === undefined || correction ? ['delivery', digest] : ['order', event, orderId];
  return derivedUuid(`source ${dedupSecret} ${JSON.stringify([keyId, trial, ...identity])}`);
}

/** The stream of a delivery that is no conversion. */
export function ignoredStreamOf({ dedupSecret }: LoadedSite, { digest }: SourceDelivery): string {
  return derivedUuid(`ignored ${dedupSecret} ${digest}`);
}

/** The person's hashes, and the key under which an erasure finds them. */
export function personalOf({ dedupSecret }: LoadedSite, { person, stored }: Delivery): IgnoredDeliveryPersonal {
  const { hashes } = person();
  const [key] = hashes.subject === undefined ? keysOf({} as InboundFields, hashes, dedupSecret) : [];
  return {
    ...(key !== undefined && { person: key as NonNullable<IgnoredDeliveryPersonal['person']> }),
    ...hashes,
    delivery: stored,
  };
}

interface DeliveredPerson {
  readonly hashes: PersonalHashes;
  /** Not stored: some filters need its domain. */
  readonly email?: string | undefined;
}

function personIn(
  sent: Readonly<Record<string, unknown>>,
  { country }: LoadedSite['site']['settings'],
  clock: Clock,
): DeliveredPerson {
  const options = { rawBody: '', clock, isStrict: false, withoutEmail: true, country: country ?? undefined };
  // The two others are required, and say nothing.
  const body: Record<string, unknown> = { ...sent, event: 'x', externalId: 'x' };
  for (;;) {
    const reading = readInboundFields(body, options);
    if (reading.ok) return { hashes: hashPersonal(reading.fields, country ?? undefined), email: reading.fields.email };
    // One that is not valid must not hide the others.
    if (body[reading.reason] === undefined) return { hashes: {} };
    delete body[reading.reason];
  }
}
