import { stringifyWithin } from './stringify-within.js';

const BODY_BYTES = 8192;
/** Retried while the page is open, also after 429: if a withdrawal of consent were lost, the service would keep using its data. */
const RETRY_DELAYS_MS = [2_000, 10_000, 60_000];

/** The tag reports to the host that served it. Empty if it was not loaded by URL: the tag then does nothing. */
const { src } = (document.currentScript || {}) as HTMLScriptElement;
export const origin = src ? new URL(src).origin : '';

/** Plain text avoids a CORS preflight. `keepalive` lets the request outlast the page. */
export function post(endpoint: 'collect' | 'identify' | 'consent', message: object): void {
  const body = stringifyWithin(message, BODY_BYTES, (text) => new Blob([text]).size);
  const url = `${origin}/__cc/${endpoint}`;
  // Older Firefox cancels a fetch when the page is left. A beacon is completed.
  if (!('keepalive' in Request.prototype)) navigator.sendBeacon(url, body);
  else send(url, body, 0);
}

function send(url: string, body: string, retries: number): void {
  const retry = () => {
    if (retries < RETRY_DELAYS_MS.length) setTimeout(send, RETRY_DELAYS_MS[retries], url, body, retries + 1);
  };
  // Only the origin as referrer: the path may identify the visitor. The service's own cookie proves who calls.
  fetch(url, { method: 'POST', body, keepalive: true, credentials: 'include', referrerPolicy: 'origin' }).then(
    ({ status }) => (status >= 500 || status === 429) && retry(),
    retry,
  );
}
