import { KEY_STREAM, LOG, type LogEvent, NO_SITE } from '../events/log.events.js';
import { UserError } from '../kernel/errors.js';
import { signJws } from '../kernel/jws.js';
import type { EventLog } from '../log/event-log.js';
import type { SigningKey, SigningKeys } from './signing-keys.js';

/**
 * Replaces the signing key. The event carries a statement that the old key signed, so that a verifier who trusts the old key
 * can trust the new one. A crash before the last step leaves the old key in use: rotating again is then safe.
 */
export async function rotateKey(keys: SigningKeys, log: EventLog, actor: string): Promise<SigningKey> {
  const previous = await keys.active();
  const next = await keys.prepare();
  const data = { keyId: next.id, publicKey: next.publicKey, previousKeyId: previous.id };
  const signature = signJws(data, previous.privateKey, previous.id);
  const event: LogEvent = { type: 'log.key_rotated.v1', data: { ...data, signature } };
  await log.append({ category: LOG, stream: KEY_STREAM, expected: 'any', site: NO_SITE, actor, events: [event] });
  if (!(await keys.replace(previous, next)))
    throw new UserError(
      'Another rotation replaced the signing key at the same time, and its key signs now. To replace that one as well, run "history rotate-key" again.',
    );
  return next;
}
