import { randomUUID } from 'node:crypto';
import { isLoopbackHost } from '../kernel/addresses.js';
import { messageOf, UserError } from '../kernel/errors.js';
import { ownerOf } from '../sites/sources/loaded-source.js';
import { requireConnected, requireSource } from '../sites/sources/source.handlers.js';
import { fixtureNames, readFixture } from '../sources/fixtures.js';
import { card, printable } from './output/table.js';
import type { Session } from './session.js';
import { UsageError } from './subcommand.js';

/** Longer than the service takes to store a delivery. */
const ANSWERED_WITHIN_MS = 30_000;

interface TriggerOptions {
  readonly site: string;
  readonly url?: string;
  readonly json?: true;
}

/** Posts a documented delivery to the running service, signed as its sender would. Sets the exit code 1 if it is refused. */
export async function triggerSource(
  session: Session,
  name: string,
  fixtureName: string,
  { site: host, url: given, json }: TriggerOptions,
): Promise<void> {
  const source = requireSource(name);
  const fixture = readFixture(name, fixtureName);
  if (!fixture)
    throw new UserError(
      `${name} has no fixture "${printable(fixtureName)}". Available: ${fixtureNames(name).join(', ')}.`,
    );
  const { site, secrets, settings, postgres } = await session.openSite(host);
  const { keyId } = requireConnected(site, name);
  const { secret } = await secrets.connectionSecrets(site.host, ownerOf(name));
  if (secret === undefined)
    throw new UserError(
      `${name} has no secret yet: "sources connect ${name} --site ${site.host} --set secret=…" sets it.`,
    );
  const base = readUrl(given ?? `http://127.0.0.1:${settings.port}`);
  const body = Buffer.from(fixture.raw);
  const signed = source.sign(fixture.topic, body, secret, postgres.clock.nowMs(), randomUUID());
  const headers = { 'Content-Type': 'application/json', Host: site.host, ...signed };
  const { status, text } = await post(session, new URL(`/__cc/sources/${name}/${keyId}`, base), headers, body);
  const document = { status, ...answerOf(text) };
  await session.output.show(json, document, () => card(document));
  if (status !== 200) session.exitCode = 1;
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError('--url takes an address such as https://shop.example.');
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname))
    throw new UsageError(`--url: send deliveries over https, not to ${url.origin}.`);
  return url;
}

async function post(session: Session, url: URL, headers: Record<string, string>, body: Buffer) {
  const signal = AbortSignal.any([session.stop, AbortSignal.timeout(ANSWERED_WITHIN_MS)]);
  try {
    // Not `fetch`, which does not send another Host.
    const { request } = await import('undici');
    const answer = await request(url, { method: 'POST', headers, body, signal });
    return { status: answer.statusCode, text: await answer.body.text() };
  } catch (error) {
    const { cause } = error as Error;
    throw new UserError(
      `${url.origin} does not answer: ${messageOf(cause ?? error)}. Is the service running there? --url names another address.`,
    );
  }
}

function answerOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { ok: false, error: printable(text.slice(0, 200)) };
  }
}
