import { SENT_CLICK_IDS } from './click-ids.js';
import type { SentClickIds } from './conversion.js';

/** The cookie of Meta's script, which also has the time of the click: `fb.1.<milliseconds>.<fbclid>`. */
const FBC = /^fb\.\d\.(\d+)\.(.+)$/;

export function readFbc(cookie: string | undefined): { readonly id: string; readonly timeMs: number } | undefined {
  const [, timeMs, id] = FBC.exec(cookie ?? '') ?? [];
  return id === undefined ? undefined : { id, timeMs: Number(timeMs) };
}

/** The ids of clicks, each once. The cookie `_fbp` is of a browser and not of a click. */
export function sentClickIds({ fbp: _, fbc, ...others }: SentClickIds): string[] {
  const clicks = others as SentClickIds;
  const ids = SENT_CLICK_IDS.map((name) => (name === 'fbc' ? readFbc(fbc)?.id : clicks[name]));
  return [...new Set(ids.filter((id) => id !== undefined))];
}
