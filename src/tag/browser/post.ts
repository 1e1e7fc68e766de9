import { fitting } from './fitting.js';

const BODY_BYTES = 8192;
/** Tried again while the page lives: a withdrawal of consent that got lost would leave the service with what it has. */
const WAITS_MS = [2_000, 10_000, 60_000];

/** Where the tag came from is where it reports to. Empty when it was not loaded by its address: then nothing works. */
const { src } = (document.currentScript || {}) as HTMLScriptElement;
export const origin = src ? new URL(src).origin : '';

/** Plain text, so that no browser asks for permission first; no cookies; alive after the page is gone. */
export function post(what: 'collect' | 'identify' | 'consent', message: object): void {
  const body = fitting(message, BODY_BYTES, (text) => new Blob([text]).size);
  const url = `${origin}/__cc/${what}`;
  // Older Firefox: a fetch would end with the page. A beacon outlives it, though it brings the host's cookies along.
  if (!('keepalive' in Request.prototype)) navigator.sendBeacon(url, body);
  else send(url, body, 0);
}

function send(url: string, body: string, tries: number): void {
  const again = () => {
    if (tries < WAITS_MS.length) setTimeout(send, WAITS_MS[tries], url, body, tries + 1);
  };
  // Of the page's address only its origin: the rest may tell whose page it is.
  fetch(url, { method: 'POST', body, keepalive: true, credentials: 'omit', referrerPolicy: 'origin' }).then(
    ({ status }) => status >= 500 && again(),
    again,
  );
}
