/** A shorter text could be part of any message. */
const SECRET_LENGTH_MIN = 6;

/** Removes secrets, which a platform may repeat in its error messages, also as they were encoded in the request. */
export function hideSecrets(secrets: readonly (string | undefined)[]): (text: string) => string {
  const known = secrets.filter((secret) => secret !== undefined && secret.length >= SECRET_LENGTH_MIN) as string[];
  const forms = known.flatMap((secret) => [secret, encodeURIComponent(secret), formEncoded(secret)]);
  // The longest first: one secret may be a part of another.
  const removed = [...new Set(forms)].sort((one, other) => other.length - one.length);
  return (text) => removed.reduce((rest, secret) => rest.replaceAll(secret, '…'), text);
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}
