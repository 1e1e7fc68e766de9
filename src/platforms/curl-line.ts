import type { Placeholders } from './placeholders.js';
import type { MarkedRequest } from './redact-request.js';

/** The request for a POSIX shell, with its variables in place of secrets. */
export function curlLine({ url, headers, body, basic }: MarkedRequest, marks: Placeholders): string {
  const word = (text: string) => shellWord(marks.split(text));
  return [
    // curl would take brackets and braces for ranges and lists.
    `curl ${/[[\]{}]/.test(url) ? '--globoff ' : ''}${word(url)}`,
    ...(basic === undefined ? [] : [`-u ${word(basic)}`]),
    ...Object.entries(headers).map(([name, value]) => `-H ${word(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`--data-raw ${word(body)}`]),
  ].join(' \\\n  ');
}

/** Every second part is the name of a variable. Nothing else is expanded. */
function shellWord(parts: readonly string[]): string {
  return parts
    .map((part, index) => (index % 2 === 1 ? `"$${part}"` : part === '' ? '' : `'${part.replaceAll("'", "'\\''")}'`))
    .join('');
}
