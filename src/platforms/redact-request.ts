import { escapeJson } from './escape-json.js';
import type { Placeholders } from './placeholders.js';
import type { PlatformRequest } from './platform.js';

/** A request whose texts have marks in place of secrets. */
export interface MarkedRequest extends PlatformRequest {
  /** User and password, which are sent as an `authorization` header. */
  readonly basic?: string;
}

const BASIC = /^Basic ([A-Za-z0-9+/]+=*)$/;

/**
 * Replaces what was computed from secrets, such as a signature, by placeholders. `again` is the same request, built with other
 * marks: what differs in it depends on a secret.
 */
export function redactRequest(
  request: PlatformRequest,
  marks: Placeholders,
  again: PlatformRequest,
  otherMarks: Placeholders,
): MarkedRequest {
  const isSame = (one = '', other = '') => marks.shown(one) === otherMarks.shown(other);
  if (!isSame(request.url, again.url) || !isSame(request.body, again.body))
    throw new TypeError('A URL or body is computed from a secret: it cannot be shown');
  const headers: Record<string, string> = {};
  let basic: string | undefined;
  for (const [name, value] of Object.entries(request.headers)) {
    const credentials = Buffer.from(BASIC.exec(value)?.[1] ?? '', 'base64').toString();
    if (marks.isIn(credentials)) basic = credentials;
    else headers[name] = isSame(value, again.headers[name]) ? value : computed(name, marks);
  }
  return {
    ...request,
    headers,
    ...(basic !== undefined && { basic }),
    // Here rather than in the line for a shell: a signature is computed from the body as it is shown.
    ...(request.body !== undefined && { body: escapeJson(request.body) }),
  };
}

function computed(header: string, marks: Placeholders): string {
  const name = header.toUpperCase().replaceAll('-', '_');
  return marks.mark(name, `The header ${header}, which is computed with a secret for each request.`);
}
