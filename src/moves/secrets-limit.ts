import { UserError } from '../kernel/errors.js';
import type { SiteSecret } from '../sites/site-secrets.js';

/** What a cell accepts in one request. */
export const SECRETS_MAX = 2_000;
/** Length of one secret, in base64. */
export const SECRET_MAX_CHARACTERS = 100_000;
/** Bytes of all secrets as JSON: with the rest of the request, less than the management API accepts. */
const SECRETS_MAX_BYTES = 1_000_000;

export function encodeSecrets(secrets: readonly SiteSecret[]): { name: string; value: string }[] {
  return secrets.map(({ name, value }) => ({ name, value: value.toString('base64') }));
}

/** Throws if the other cell would refuse the secrets of a site. They are sent when the site is closed already. */
export function requireSendable(host: string, secrets: readonly SiteSecret[]): void {
  const encoded = encodeSecrets(secrets);
  const tooLong = encoded.find(({ value }) => value.length > SECRET_MAX_CHARACTERS);
  const bytes = Buffer.byteLength(JSON.stringify(encoded));
  const problem = tooLong
    ? `${tooLong.name} is longer than ${(SECRET_MAX_CHARACTERS / 4) * 3} bytes`
    : encoded.length > SECRETS_MAX
      ? `there are ${encoded.length}, and at most ${SECRETS_MAX} can be sent`
      : bytes > SECRETS_MAX_BYTES
        ? `they have ${bytes} bytes, and at most ${SECRETS_MAX_BYTES} can be sent`
        : undefined;
  if (problem)
    throw new UserError(
      `The secrets of ${host} cannot be sent to another cell: ${problem}. Nothing has changed. Disconnect platforms that are not used ("platforms disconnect"), or set shorter values, then run the command again.`,
    );
}
