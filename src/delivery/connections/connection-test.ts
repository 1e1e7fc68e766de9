import { hash } from 'node:crypto';
import { redact, shorten } from '../../platforms/common-verdict.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import type { Conversion } from '../../platforms/conversion.js';
import { hideSecrets } from '../../platforms/hide-secrets.js';
import { PAYLOAD_VERSION } from '../../platforms/payload-version.js';
import type { Call, Connection, Payload, PlatformResponse, TestCheck, Verdict } from '../../platforms/platform.js';
import { partsOf } from '../payload/payload.js';
import { type AccessTokens, CredentialsRefused, type TokenOwner } from './access-tokens.js';
import { NoResponse, type PlatformClient } from './platform-client.js';

/**
 * `accepted`: a conversion was sent in the platform's test mode and accepted. `refused`: the platform, or the way to it, does not
 * work. `not_sent`: no conversion was sent, and nothing that could be checked is wrong.
 */
export const TEST_RESULTS = ['accepted', 'refused', 'not_sent'] as const;

export interface ConnectionTest {
  readonly platform: ConnectionName;
  readonly ok: boolean;
  readonly status: string;
  /** Whether a conversion was sent, in the platform's test mode. */
  readonly sent: boolean;
  readonly result: (typeof TEST_RESULTS)[number];
  /** What the platform has shown to be right. */
  readonly checked: readonly TestCheck[];
  /** What failed, in the platform's words or in those of the HTTP client; or why no conversion was sent, and what is missing. */
  readonly reason?: string;
  /** What a person can do about a refusal. */
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

/** Sends a conversion in the platform's test mode, or checks what can be checked without one. No conversion is counted. */
export async function testConnection(
  owner: TokenOwner,
  connection: Connection,
  client: Pick<PlatformClient, 'request'>,
  tokens: AccessTokens,
  nowMs: number,
): Promise<ConnectionTest> {
  const { name, platform } = owner;
  const payload = platform.payload(sampleConversion(nowMs), connection.settings);
  if ('skip' in payload) {
    const reason = `a purchase without a visit would be skipped: ${payload.skip}`;
    return { platform: name, ok: false, status: 'skipped', sent: false, result: 'not_sent', checked: [], reason };
  }
  let accessToken: string | undefined;
  const tested = await tryTest(async () => {
    accessToken = await tokens.get(owner, connection);
    return testPayload(owner, payload, { connection, group: payload.group, accessToken, nowMs }, client);
  }, name);
  // A platform repeats a token that it cannot read, and a URL may contain one.
  const hide = hideSecrets([...Object.values(connection.secrets), accessToken]);
  const { reason } = tested;
  return { ...tested, ...(reason !== undefined && { reason: hide(reason) }) };
}

async function tryTest(test: () => Promise<ConnectionTest>, platform: ConnectionName): Promise<ConnectionTest> {
  try {
    return await test();
  } catch (error) {
    const isRefused = error instanceof CredentialsRefused;
    if (!isRefused && !(error instanceof NoResponse)) throw error;
    const status = isRefused ? 'unauthorized' : 'failed';
    const refusal = { platform, ok: false, status, sent: false, result: 'refused', checked: [] } as const;
    return { ...refusal, reason: error.message, ...(isRefused && { fix: FIXES.unauthorized }) };
  }
}

/** For each of several conversion actions, until one fails. */
async function testPayload(
  owner: TokenOwner,
  payload: Payload,
  call: Call,
  client: Pick<PlatformClient, 'request'>,
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

async function testItem(
  owner: TokenOwner,
  item: string,
  call: Call,
  client: Pick<PlatformClient, 'request'>,
): Promise<ConnectionTest> {
  const { name, platform } = owner;
  // The token endpoint accepts valid credentials only.
  const fetched: readonly TestCheck[] = call.accessToken === undefined ? [] : ['credentials'];
  const unsent = { platform: name, ok: true, status: 'validated', sent: false, result: 'not_sent' } as const;
  const test = platform.test?.(item, call);
  if (!test) return { ...unsent, checked: fetched, reason: platform.untested ?? '' };
  const response = await client.request(platform, test.request, call.connection);
  const verdict = test.verdict(response);
  if (!verdict) {
    const unread = withWords(`The credentials may not read more (HTTP ${response.status})`, response.text);
    return { ...unsent, checked: fetched, reason: `${platform.untested} ${unread}` };
  }
  const { kind } = verdict;
  if (kind !== 'delivered' && kind !== 'accepted') return refused(owner, verdict, test.sent, response);
  const checked = [...new Set([...fetched, ...test.checks])];
  return test.sent
    ? { platform: name, ok: true, status: kind, sent: true, result: 'accepted', checked }
    : { ...unsent, checked, reason: platform.untested ?? '' };
}

/** Where the platform's code does not say what to do. */
const FIXES = {
  unauthorized: 'Set new credentials, or sign in at the platform again.',
  misconfigured: 'Check the settings of the connection, and the account at the platform.',
  retry: 'Try again in some minutes.',
} as const;

function refused(
  { name, platform }: TokenOwner,
  verdict: Verdict,
  sent: boolean,
  response: PlatformResponse,
): ConnectionTest {
  const { kind } = verdict;
  const status = kind === 'unauthorized' || kind === 'misconfigured' ? kind : 'failed';
  const reason = reasonOf(verdict, response);
  const fix =
    ('reason' in verdict ? platform.fix?.(verdict.reason) : undefined) ??
    FIXES[kind === 'retry' || kind === 'unauthorized' ? kind : 'misconfigured'];
  return { platform: name, ok: false, status, sent, result: 'refused', checked: [], reason, fix };
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
