const REDACTED = '***';
/** Words, versions and dates, joined by `-`, `_`, `.` or `~`. Everything else may be a token: real names read like these. */
const WORD = '(?:(?:[A-Z]?[a-z]{1,15}|[A-Z]{1,5})\\d{0,2}|\\d{1,4})';
const PLAIN_SEGMENT = new RegExp(`^_*${WORD}(?:[-_.~]${WORD})*$`);

/**
 * An address as it is stored in events and shown: user and password, the values of the query, the fragment, and parts of the
 * path that may be a token are replaced by `***`. Addresses of webhooks often contain their only credential.
 */
export function redactUrl(text: string): string {
  const url = new URL(text);
  const user = url.username + url.password === '' ? '' : `${REDACTED}@`;
  const path = url.pathname.split('/').map((segment) => (isPlain(segment) ? segment : REDACTED));
  const query = url.search === '' ? '' : `?${url.search.slice(1).split('&').map(redactParameter).join('&')}`;
  const redacted = `${url.protocol}//${user}${url.host}${path.join('/')}${query}${url.hash === '' ? '' : `#${REDACTED}`}`;
  // As it was given, where nothing had to be replaced: the parser adds a slash and changes the case.
  return redacted === url.href ? text : redacted;
}

export function isRedactedUrl(text: string): boolean {
  return text.includes(REDACTED);
}

/** The redacted address with other texts in place of what was redacted, which are numbered from 1. */
export function withRedactedParts(redacted: string, partOf: (number: number) => string): string {
  let number = 0;
  return redacted.replaceAll(REDACTED, () => {
    number += 1;
    return partOf(number);
  });
}

function isPlain(segment: string): boolean {
  return segment === '' || PLAIN_SEGMENT.test(segment);
}

function redactParameter(parameter: string): string {
  const at = parameter.indexOf('=');
  if (parameter === '' || at === parameter.length - 1) return parameter;
  return at === -1 ? REDACTED : `${parameter.slice(0, at)}=${REDACTED}`;
}
