import type { Clock } from '../../kernel/clock.js';
import type { Site } from '../../sites/site.js';
import type { LoadedSite } from '../../sites/site-directory.js';
import { loadSource } from '../../sites/sources/loaded-source.js';
import type { SiteSource } from '../../sites/sources/site-source.js';
import { readFixture } from '../../sources/fixtures.js';
import type { Mapping } from '../../sources/mapping/mapping.js';
import type { Source } from '../../sources/source.js';
import { decideDelivery, deliveryOf } from './source-delivery.js';

const SECRET = 'of a delivery that is made and verified here';

/** What a documented delivery becomes by rules that need not be stored. Undefined if the source has no such fixture. */
export function tryFixture(site: Site, source: Source, changes: Mapping, fixtureName: string, clock: Clock) {
  const fixture = readFixture(source.name, fixtureName);
  if (!fixture) return undefined;
  const body = Buffer.from(fixture.raw);
  const nowMs = clock.nowMs();
  const signed = source.sign(fixture.topic, body, SECRET, nowMs, 'fixture');
  const headers = Object.fromEntries(Object.entries(signed).map(([name, value]) => [name.toLowerCase(), value]));
  const raw = { headers, body };
  const head = source.head(raw, fixture.body);
  if (!head || source.verify(raw, SECRET, nowMs) !== undefined) throw new Error('A fixture is not authentic');
  const known = site.sources.find((each) => each.source === source.name);
  const connection: SiteSource = {
    ...{ source: source.name, keyId: known?.keyId ?? '', hasSecret: true, createdAt: '' },
    mapping: changes,
  };
  const loaded = loadSource(source, connection, {});
  const connections = new Map(
    site.connections.filter(({ disconnected }) => !disconnected).map((each) => [each.platform, { connection: each }]),
  );
  // What the decision reads of a loaded site.
  const loadedSite = { site, dedupSecret: SECRET, connections } as unknown as LoadedSite;
  const delivery = deliveryOf(loadedSite, loaded, head, raw, fixture.body, clock, true);
  const topic = fixture.topic;
  if (!delivery) return { topic, outcome: 'unknown_topic' as const };
  const shape = delivery.stored.shape;
  const decision = decideDelivery(loadedSite, delivery, clock);
  if (decision.kind === 'order') return { topic, outcome: 'converted' as const, reason: 'order_decides', shape };
  if (decision.kind === 'ignored') return { topic, outcome: 'ignored' as const, reason: decision.reason, shape };
  const { hashes: _, email: __, phone: ___, firstName: ____, lastName: _____, ...conversion } = decision.fields;
  return { topic, outcome: 'converted' as const, conversion, shape };
}
