import { messageOf, UserError } from '../kernel/errors.js';
import type { Settings } from '../kernel/settings/settings.js';

/** Longer than the service waits for platforms. */
const ANSWERED_WITHIN_MS = 60_000;

export interface PostedConversion {
  /** Where the service answers. */
  readonly url: URL;
  /** The site, by which the service finds it. */
  readonly host: string;
  readonly key: string;
  readonly body: string;
  readonly stop?: AbortSignal;
  /** What to do if nothing answers. */
  readonly hint: string;
}

export interface InboundAnswer {
  readonly status: number;
  readonly id: string;
  readonly warning: string | undefined;
  readonly text: string;
}

/** Where the service accepts conversions on its own machine. */
export function localUrl({ tlsCert, port }: Pick<Settings, 'tlsCert' | 'port'>): string {
  return `http${tlsCert ? 's' : ''}://localhost:${port}`;
}

/** Posts a conversion to the service as a sender does. */
export async function postConversion({ url, host, key, body, stop, hint }: PostedConversion): Promise<InboundAnswer> {
  const headers = {
    'Content-Type': 'application/json',
    'X-CC-Api-Key': key,
    ...(host !== url.hostname && { Host: host }),
  };
  const timeout = AbortSignal.timeout(ANSWERED_WITHIN_MS);
  const signal = stop ? AbortSignal.any([stop, timeout]) : timeout;
  try {
    // Not `fetch`, which does not send another Host.
    const { request } = await import('undici');
    const answer = await request(new URL('/__cc/inbound', url), { method: 'POST', headers, body, signal });
    const id = String(answer.headers['x-cc-conversion-id'] ?? '');
    const warning = answer.headers['x-cc-warning']?.toString();
    return { status: answer.statusCode, id, warning, text: await answer.body.text() };
  } catch (error) {
    const { cause } = error as Error;
    throw new UserError(`${url.origin} does not answer: ${messageOf(cause ?? error)}. ${hint}`);
  }
}

/** What the service says about a conversion that it refuses. */
export function errorIn(text: string): string {
  try {
    return String((JSON.parse(text) as { error?: unknown }).error ?? text);
  } catch {
    return text.slice(0, 200);
  }
}
