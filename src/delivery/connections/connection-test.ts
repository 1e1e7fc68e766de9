import { hash } from 'node:crypto';
import { redact, shorten } from '../../platforms/common-verdict.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import type { Conversion } from '../../platforms/conversion.js';
import { PAYLOAD_VERSION } from '../../platforms/payload-version.js';
import type { Call, Connection, Payload, PlatformResponse, Verdict } from '../../platforms/platform.js';
import { partsOf } from '../payload/payload.js';
import { type AccessTokens, CredentialsRefused, type TokenOwner } from './access-tokens.js';
import { NoResponse, type PlatformClient } from './platform-client.js';

export interface ConnectionTest {
  readonly platform: ConnectionName;
  readonly ok: boolean;
  readonly status: string;
  /** Whether a conversion was sent, in the platform's test mode. */
  readonly sent: boolean;
  /** What failed, in the platform's words or in those of the HTTP client. */
  readonly reason?: string;
  /** What a person can do about it, if the platform's code says so. */
  readonly fix?: string;
}

/** A purchase by a fictitious person. */
function sampleConversion(nowMs: number): Conversion {
  const id = `test-${nowMs}`;
  const digest = (text: string) => hash('sha256', text);
  return {
    id,
    eventId: id,
    event: 'purchase',
    value: 1,
    currency: 'USD',
    orderId: id,
    timeMs: nowMs,
    hashes: { subject: digest('test@example.com'), phone: digest('+15555550100'), phoneDigits: digest('15555550100') },
    consent: 'unknown',
    payloadVersion: PAYLOAD_VERSION,
  };
}

/** Tests a connection in the platform's test mode. If the platform has none, checks credentials and payload only. */
export async function testConnection(
  owner: TokenOwner,
  connection: Connection,
  client: PlatformClient,
  tokens: AccessTokens,
  nowMs: number,
): Promise<ConnectionTest> {
  const { name, platform } = owner;
  const payload = platform.payload(sampleConversion(nowMs), connection.settings);
  if ('skip' in payload) {
    const reason = `a purchase without a visit would be skipped: ${payload.skip}`;
    return { platform: name, ok: false, status: 'skipped', sent: false, reason };
  }
  try {
    const accessToken = await tokens.get(owner, connection);
    return await testPayload(owner, payload, { connection, group: payload.group, accessToken, nowMs }, client);
  } catch (error) {
    if (error instanceof NoResponse)
      return { platform: name, ok: false, status: 'failed', sent: false, reason: error.message };
    if (error instanceof CredentialsRefused)
      return { platform: name, ok: false, status: 'unauthorized', sent: false, reason: error.message };
    throw error;
  }
}

/** For each of several conversion actions, until one fails. */
async function testPayload(
  owner: TokenOwner,
  payload: Payload,
  call: Call,
  client: PlatformClient,
): Promise<ConnectionTest> {
  const parts = partsOf(payload);
  if (!parts) return testItem(owner, JSON.stringify(payload.item), call, client);
  let test: ConnectionTest | undefined;
  for (const { action, body } of parts) {
    test = await testItem(owner, body, call, client);
    if (!test.ok) return { ...test, reason: `${action}: ${test.reason}` };
  }
  return test as ConnectionTest;
}

async function testItem(owner: TokenOwner, item: string, call: Call, client: PlatformClient): Promise<ConnectionTest> {
  const { name, platform } = owner;
  const test = platform.test?.(item, call);
  if (!test) {
    const checked =
      call.accessToken === undefined ? 'the payload was built' : 'the payload was built and a token fetched';
    const reason = `the platform has no test mode: ${checked}, nothing was sent`;
    return { platform: name, ok: true, status: 'validated', sent: false, reason };
  }
  const response = await client.request(platform, test.request, call.connection);
  return toConnectionTest(owner, test.verdict(response), test.sent, response);
}

function toConnectionTest(
  { name, platform }: TokenOwner,
  verdict: Verdict,
  sent: boolean,
  response: PlatformResponse,
): ConnectionTest {
  const { kind } = verdict;
  if (kind === 'delivered' || kind === 'accepted') return { platform: name, ok: true, status: kind, sent };
  const status = kind === 'unauthorized' || kind === 'misconfigured' ? kind : 'failed';
  const fix = 'reason' in verdict ? platform.fix?.(verdict.reason) : undefined;
  const reason = reasonOf(verdict, response);
  return { platform: name, ok: false, status, sent, reason, ...(fix !== undefined && { fix }) };
}

/** The HTTP status and the platform's words. */
function reasonOf(verdict: Verdict, { status, text }: PlatformResponse): string {
  const http = `HTTP ${status}`;
  if (verdict.kind === 'retry' || !('reason' in verdict)) return withWords(describe(http, status), text);
  return verdict.reason.startsWith(http)
    ? withWords(shorten(verdict.reason), text)
    : shorten(`${http}: ${verdict.reason}`);
}

function describe(http: string, status: number): string {
  if (status === 429) return `${http} (too many requests)`;
  return status < 300 ? `${http} with an answer that this platform does not give` : http;
}

/** A web page comes from a proxy or another server, and is not shown. */
function withWords(what: string, text: string): string {
  if (text.trimStart().startsWith('<')) return `${what}, with a web page instead of an answer of the API`;
  const words = redact(text);
  return words === '' ? what : `${what}: ${words}`;
}
