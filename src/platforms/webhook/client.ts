import { hash } from 'node:crypto';
import { signature } from '../../http/webhook-signature.js';
import { redactUrl } from '../../kernel/redact-url.js';
import { type Call, endpointUrl, type PlatformRequest, type TestCall } from '../platform.js';
import { verdict } from './verdict.js';

export function request([item = '']: readonly string[], call: Call): PlatformRequest {
  return post(messageId(item), item, call);
}

/** A message of type `test`, with a new id each time so that the receiver does not drop it as a duplicate. */
export function test(item: string, call: Call): TestCall {
  const body = JSON.stringify({ ...JSON.parse(item), type: 'test' });
  return { request: post(`msg_test_${call.nowMs}`, body, call), sent: true, checks: ['address'], verdict };
}

/**
 * The same for every attempt, even when a later version formats the message differently. It depends on both ids: one
 * order can have several conversions, and an operator's deliberate resend has a new event id.
 */
function messageId(item: string): string {
  const { data } = JSON.parse(item) as { data: { conversion_id: string; event_id: string } };
  return `msg_${hash('sha256', `${data.conversion_id}\n${data.event_id}`).slice(0, 32)}`;
}

/** The full address is sealed if the one in the settings is redacted. It may be newer than the settings of a bound delivery. */
function addressOf({ settings: { url = '' }, secrets }: Call['connection']): string {
  const sealed = secrets['url'];
  return sealed !== undefined && redactUrl(sealed) === url ? sealed : url;
}

function post(id: string, body: string, { connection, nowMs, traceparent }: Call): PlatformRequest {
  const { origin, pathname, search } = new URL(addressOf(connection));
  const { secret } = connection.secrets;
  const timestamp = Math.floor(nowMs / 1_000);
  return {
    method: 'POST',
    url: endpointUrl(connection, origin, pathname + search),
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      // A signature with an empty key could be forged by anyone.
      ...(secret ? { 'webhook-signature': signature(secret, id, timestamp, body) } : {}),
      ...(traceparent && connection.settings['traceparent'] === 'yes' ? { traceparent } : {}),
    },
    body,
  };
}
