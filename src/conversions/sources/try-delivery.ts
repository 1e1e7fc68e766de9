import { hash } from 'node:crypto';
import type { SourceDelivery, StoredDelivery } from '../../events/conversion.events.js';
import type { IgnoredDelivery } from '../../events/inbound.events.js';
import type { Clock } from '../../kernel/clock.js';
import type { EventLog } from '../../log/event-log.js';
import type { Site } from '../../sites/site.js';
import type { LoadedSite } from '../../sites/site-directory.js';
import { type LoadedSource, loadSource } from '../../sites/sources/loaded-source.js';
import type { SiteSource } from '../../sites/sources/site-source.js';
import { type Fixture, readFixture } from '../../sources/fixtures.js';
import type { Mapping } from '../../sources/mapping/mapping.js';
import type { RawDelivery, Source } from '../../sources/source.js';
import { type Delivery, decideDelivery, deliveryOf, ignoredDelivery, storedDelivery } from './source-delivery.js';

const SECRET = 'of a delivery that is made and verified here';

/** Neither values of the person nor hashes of them are shown. */
const PERSON: ReadonlySet<string> = new Set(['hashes', 'email', 'phone', 'firstName', 'lastName']);

/** What is tried: rules that need not be stored, of a source that need not be connected. */
export interface TriedRules {
  readonly site: Site;
  readonly source: Source;
  readonly changes: Mapping;
  readonly clock: Clock;
}

/** What a documented delivery becomes. Undefined if the source has no such fixture. */
export function tryFixture(rules: TriedRules, fixtureName: string) {
  const { site, source, clock } = rules;
  const fixture = readFixture(source.name, fixtureName);
  if (!fixture) return undefined;
  const delivery = fixtureDelivery(loadedFor(site), sourceOf(rules), fixture, fixture.raw, clock);
  return outcomeOf(rules, fixture.topic, delivery);
}

/**
 * What the delivery at a position of the log becomes, by what was stored of it. Undefined if there is none of this source. `erased`: its
 * personal part was deleted, and with it what the rules read.
 */
export async function tryStored(rules: TriedRules, log: Pick<EventLog, 'read'>, position: number) {
  const { site, source } = rules;
  const [event] = await log.read({ after: position - 1, until: position, site: site.host });
  const data = deliveredBy(event);
  if (!event || !data || data.source !== source.name) return undefined;
  const personal = event.personal as { readonly delivery?: StoredDelivery } | null;
  if (!personal?.delivery) return { topic: data.topic, outcome: 'erased' as const };
  const delivery = storedDelivery(sourceOf(rules), data, personal as never);
  return { ...outcomeOf(rules, data.topic, delivery), values: personal.delivery.values };
}

/** What was delivered, if the event was made of a delivery of a source. */
function deliveredBy(event: { readonly type: string; readonly data: object } | undefined): SourceDelivery | undefined {
  return event?.type === 'inbound.delivery_ignored.v1'
    ? ignoredDelivery(event.data as IgnoredDelivery)
    : (event?.data as { readonly delivery?: SourceDelivery } | undefined)?.delivery;
}

/** An authentic delivery of a fixture. Undefined if the rules do not have its topic. */
export function fixtureDelivery(
  site: LoadedSite,
  loaded: LoadedSource,
  { topic }: Fixture,
  text: string,
  clock: Clock,
): Delivery | undefined {
  const { source } = loaded;
  const body = Buffer.from(text);
  const json = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const nowMs = clock.nowMs();
  const signed = source.sign(topic, body, SECRET, nowMs, hash('sha256', text).slice(0, 16));
  const headers = Object.fromEntries(Object.entries(signed).map(([name, value]) => [name.toLowerCase(), value]));
  const raw: RawDelivery = { headers, body };
  const head = source.head(raw, json);
  if (!head || source.verify(raw, SECRET, nowMs) !== undefined) throw new Error('A fixture is not authentic');
  return deliveryOf(site, loaded, head, raw, json, clock, true);
}

function outcomeOf({ site, clock }: TriedRules, topic: string, delivery: Delivery | undefined) {
  if (!delivery) return { topic, outcome: 'unknown_topic' as const };
  const { shape } = delivery.stored;
  const tried = { topic, ...(shape !== undefined && { shape }) };
  const decision = decideDelivery(loadedFor(site), delivery, clock);
  if (decision.kind === 'order') return { ...tried, outcome: 'converted' as const, reason: 'order_decides' };
  if (decision.kind === 'ignored') return { ...tried, outcome: 'ignored' as const, reason: decision.reason };
  const about = Object.entries(decision.fields).filter(([name]) => !PERSON.has(name) && !name.startsWith('hashed'));
  return { ...tried, outcome: 'converted' as const, conversion: Object.fromEntries(about) };
}

function sourceOf({ site, source, changes }: TriedRules): LoadedSource {
  const known = site.sources.find((each) => each.source === source.name);
  const connection: SiteSource = {
    ...{ source: source.name, keyId: known?.keyId ?? '', hasSecret: true, createdAt: '' },
    mapping: changes,
  };
  return loadSource(source, connection, {});
}

/** What the decision reads of a loaded site. */
function loadedFor(site: Site): LoadedSite {
  const connections = new Map(
    site.connections.filter(({ disconnected }) => !disconnected).map((each) => [each.platform, { connection: each }]),
  );
  return { site, dedupSecret: SECRET, connections } as unknown as LoadedSite;
}
