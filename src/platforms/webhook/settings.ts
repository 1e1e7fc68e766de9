import type { Field } from '../platform.js';
import { SECRET_PREFIX, signingKey } from './signature.js';

export const fields: readonly Field[] = [
  {
    name: 'url',
    required: true,
    help: 'Where conversions are posted to: an https address of yours; http too where OUTBOUND_ALLOW_PRIVATE=true.',
    check: urlProblem,
  },
  {
    name: 'secret',
    secret: true,
    help: 'Signs every message. Leave it out and one is made and shown once.',
    check: secretProblem,
  },
];

/** Whether http will do is known only where it is sent: settings outlive the environment they were made in. */
function urlProblem(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return 'must be an address that begins with https://';
  if (url.username !== '' || url.password !== '') return 'must not hold credentials: messages are signed instead';
  return undefined;
}

export function secretProblem(value: string): string | undefined {
  if (value.trim() === '') return 'must not be empty: leave it out and one is made';
  if (!value.startsWith(SECRET_PREFIX)) return undefined;
  // Decoding skips what is not base64, and a typo would make another key.
  const encoded = value.slice(SECRET_PREFIX.length);
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && encoded.length % 4 === 0;
  return isBase64 && signingKey(value).length > 0 ? undefined : 'must have base64 after whsec_';
}
