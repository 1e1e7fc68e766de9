import { hash } from 'node:crypto';
import { shorten } from '../platforms/common-verdict.js';
import type { Conversion } from '../platforms/conversion.js';
import { PAYLOAD_VERSION } from '../platforms/payload-version.js';
import type { Connection, Platform, PlatformName, Verdict } from '../platforms/platform.js';
import { type AccessTokens, CredentialsRefused } from './access-tokens.js';
import { NoResponse, type PlatformClient } from './platform-client.js';

export interface ConnectionTest {
  readonly platform: PlatformName;
  readonly ok: boolean;
  readonly status: string;
  /** Whether a conversion was sent, in the platform's test mode. */
  readonly sent: boolean;
  readonly reason?: string;
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
  site: string,
  platform: Platform,
  connection: Connection,
  client: PlatformClient,
  tokens: AccessTokens,
  nowMs: number,
): Promise<ConnectionTest> {
  const { name } = platform;
  const payload = platform.payload(sampleConversion(nowMs), connection.settings);
  if ('skip' in payload) {
    const reason = `a purchase without a visit would be skipped: ${payload.skip}`;
    return { platform: name, ok: false, status: 'skipped', sent: false, reason };
  }
  try {
    const accessToken = await tokens.get(site, platform, connection);
    const call = { connection, group: payload.group, accessToken, nowMs };
    const test = platform.test?.(JSON.stringify(payload.item), call);
    if (!test) {
      const checked = accessToken === undefined ? 'the payload was built' : 'the payload was built and a token fetched';
      const reason = `the platform has no test mode: ${checked}, nothing was sent`;
      return { platform: name, ok: true, status: 'validated', sent: false, reason };
    }
    const response = await client.request(platform, test.request, connection);
    return toConnectionTest(name, test.verdict(response), test.sent);
  } catch (error) {
    if (error instanceof NoResponse)
      return { platform: name, ok: false, status: 'failed', sent: false, reason: error.message };
    if (error instanceof CredentialsRefused)
      return { platform: name, ok: false, status: 'unauthorized', sent: false, reason: error.message };
    throw error;
  }
}

function toConnectionTest(platform: PlatformName, verdict: Verdict, sent: boolean): ConnectionTest {
  const ok = verdict.kind === 'delivered' || verdict.kind === 'accepted';
  const status = ok ? verdict.kind : verdict.kind === 'unauthorized' ? 'unauthorized' : 'failed';
  return { platform, ok, status, sent, ...('reason' in verdict && { reason: shorten(verdict.reason) }) };
}
