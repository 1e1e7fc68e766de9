import type { Click } from './visitor-record.js';

/** JSON of at most `limit` by `size`. Drops the least important fields first and the newest clicks last. */
export function stringifyWithin(whole: object, limit: number, size: (text: string) => number): string {
  const part = { ...whole } as Record<string, unknown>;
  const clicks = { ...(part.clicks as Record<string, Click>) };
  const oldestFirst = Object.keys(clicks).sort((a, b) => (clicks[a] as Click).t - (clicks[b] as Click).t);
  if (part.clicks) part.clicks = clicks;
  const steps = [
    ...oldestFirst.map((kind) => () => {
      const { id, t } = clicks[kind] as Click;
      clicks[kind] = { id, t };
    }),
    ...['first', 'referrer', 'utm'].map((name) => () => delete part[name]),
    ...oldestFirst.map((kind) => () => delete clicks[kind]),
  ];
  let text = JSON.stringify(part);
  for (const step of steps) {
    if (size(text) <= limit) break;
    step();
    text = JSON.stringify(part);
  }
  return text;
}
