import { kindOfSent, SENT_CLICK_IDS } from './click-ids.js';
import type { SentClickIds } from './conversion.js';

/** The cookie of Meta's script, which also has the time of the click: `fb.1.<milliseconds>.<fbclid>`. */
const FBC = /^fb\.\d\.(\d+)\.(.+)$/;

export function readFbc(cookie: string | undefined): { readonly id: string; readonly timeMs: number } | undefined {
  const [, timeMs, id] = FBC.exec(cookie ?? '') ?? [];
  return id === undefined ? undefined : { id, timeMs: Number(timeMs) };
}

/** The click ids, each with its kind as this service writes it. The cookie `_fbp` is of a browser and not of a click. */
export function sentClicks(clickIds: SentClickIds): [kind: string, id: string][] {
  const clicks: [string, string][] = [];
  for (const name of SENT_CLICK_IDS) {
    const sent = clickIds[name];
    if (sent === undefined || name === 'fbp') continue;
    const id = name === 'fbc' ? readFbc(sent)?.id : sent;
    if (id === undefined || (name === 'fbc' && id === clickIds.fbclid)) continue;
    clicks.push([name === 'fbc' ? 'fbclid' : (kindOfSent(name) ?? name), id]);
  }
  return clicks;
}
