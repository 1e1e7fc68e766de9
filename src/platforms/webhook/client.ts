import { hash } from 'node:crypto';
import { addressOf, type Call, type PlatformRequest, type TestCall } from '../platform.js';
import { signature } from './signature.js';
import { verdict } from './verdict.js';

export function request([item = '']: readonly string[], call: Call): PlatformRequest {
  return post(messageId(item), item, call);
}

/** A message that the receiver can tell from a conversion; an id of its own, so that no test is dropped as a repeat. */
export function test(item: string, call: Call): TestCall {
  const body = JSON.stringify({ ...JSON.parse(item), type: 'test' });
  return { request: post(`msg_test_${call.nowMs}`, body, call), sent: true, verdict };
}

/**
 * The same for every attempt, whatever else in the message a later version spells differently. Both ids: one order can
 * have several conversions, and one conversion can be sent again on purpose, with another event id.
 */
function messageId(item: string): string {
  const { data } = JSON.parse(item) as { data: { conversion_id: string; event_id: string } };
  return `msg_${hash('sha256', `${data.conversion_id}\n${data.event_id}`).slice(0, 32)}`;
}

function post(id: string, body: string, { connection, nowMs }: Call): PlatformRequest {
  const { origin, pathname, search } = new URL(connection.settings['url'] ?? '');
  const { secret } = connection.secrets;
  const timestamp = Math.floor(nowMs / 1_000);
  return {
    method: 'POST',
    url: addressOf(connection, origin, pathname + search),
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      // An empty key would sign as well, and anybody could do the same.
      ...(secret ? { 'webhook-signature': signature(secret, id, timestamp, body) } : {}),
    },
    body,
  };
}
