import type { Placeholders } from './placeholders.js';
import type { MarkedRequest } from './redact-request.js';

/** A terminal obeys these or does not show them: pasted, a DEL removes the quote before it, and what follows is run. */
const UNSHOWABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The request for a POSIX shell, with its variables in place of secrets. */
export function curlLine({ url, headers, body, basic }: MarkedRequest, marks: Placeholders): string {
  const word = (text: string) => shellWord(marks.split(text));
  const address = url.replace(UNSHOWABLE, encodeURIComponent);
  return [
    // curl would take brackets and braces for ranges and lists.
    `curl ${/[[\]{}]/.test(address) ? '--globoff ' : ''}${word(address)}`,
    ...(basic === undefined ? [] : [`-u ${word(basic)}`]),
    ...Object.entries(headers).map(([name, value]) => `-H ${word(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`--data-raw ${word(body)}`]),
  ].join(' \\\n  ');
}

/** Every second part is the name of a variable. Nothing else is expanded. */
function shellWord(parts: readonly string[]): string {
  if (parts.some((part) => part.search(UNSHOWABLE) >= 0))
    throw new TypeError('A request has a control character outside its URL: it cannot be shown for a shell');
  return parts
    .map((part, index) => (index % 2 === 1 ? `"$${part}"` : part === '' ? '' : `'${part.replaceAll("'", "'\\''")}'`))
    .join('');
}
