import { randomUUID } from 'node:crypto';
import { ConnectSource } from '../../src/sites/sources/source.commands.js';
import { type Fixture, readFixture } from '../../src/sources/fixtures.js';
import type { Source } from '../../src/sources/source.js';
import { findSource } from '../../src/sources/sources.js';
import { type Operator, type Reply, rawPost, send, type TestService, type TestSite } from './service.js';

export const SOURCE_SECRET = 'whsec_of_the_test';

/** A source that is connected to a site, with `SOURCE_SECRET`. */
export interface ConnectedSource {
  readonly site: TestSite;
  readonly keyId: string;
  readonly name: string;
}

/** What differs from a delivery as its sender sends it now. */
export interface Sent {
  readonly secret?: string;
  readonly at?: number;
  readonly id?: string;
  readonly host?: string;
  readonly headers?: Record<string, string>;
}

/** One documented delivery of each source. */
export const FIRST: readonly (readonly [string, string])[] = [
  ['shopify', 'orders-paid'],
  ['stripe', 'checkout.session.completed'],
  ['woocommerce', 'order.created'],
  ['segment', 'order-completed'],
];

export const sourceOf = (name: string) => findSource(name) as Source;
export const fixtureOf = (source: string, name: string) => readFixture(source, name) as Fixture;

export async function connectSource(
  operator: Operator,
  site: TestSite,
  name: string,
  secret = SOURCE_SECRET,
): Promise<ConnectedSource> {
  const { connection } = await operator.execute(new ConnectSource('cli', site.host, name, secret));
  return { site, keyId: connection.keyId, name };
}

export function requestOf({ site, keyId, name }: ConnectedSource, raw: string, topic: string, sent: Sent = {}) {
  const { secret = SOURCE_SECRET, at = Date.now(), id = randomUUID(), host = site.host } = sent;
  const signed = sourceOf(name).sign(topic, Buffer.from(raw), secret, at, id);
  const headers = { Host: host, 'Content-Type': 'application/json', ...signed, ...sent.headers };
  return { method: 'POST', path: `/__cc/sources/${name}/${keyId}`, body: raw, headers };
}

export function deliver(
  service: TestService,
  to: ConnectedSource,
  raw: string,
  topic: string,
  sent?: Sent,
): Promise<Reply> {
  return send(service, requestOf(to, raw, topic, sent));
}

/** Sends a documented delivery. */
export function play(service: TestService, to: ConnectedSource, fixture: string, sent?: Sent): Promise<Reply> {
  const { raw, topic } = fixtureOf(to.name, fixture);
  return deliver(service, to, raw, topic, sent);
}

/** The text of the request, for tests that send it in parts. */
export function rawDelivery(to: ConnectedSource, fixture: string, sent?: Sent): string {
  const { raw, topic } = fixtureOf(to.name, fixture);
  const { path, body, headers } = requestOf(to, raw, topic, sent);
  return rawPost(to.site, body, headers).replace('/__cc/inbound', path);
}

export const bodyOf = ({ body }: Reply) => JSON.parse(body) as Record<string, unknown>;
