import { type Delivery, isUnsettled } from '../conversion-story.js';

const SOON_MS = 2_000;
const LATER_MS = 30_000;

/** After how long a conversion is read again: soon while an attempt is due, else now and then. Undefined: all is settled. */
export function rereadAfterMs(
  deliveries: readonly Pick<Delivery, 'status' | 'attempts'>[],
  nowMs: number,
): number | undefined {
  const waiting = deliveries.filter(({ status }) => isUnsettled(status));
  if (waiting.length === 0) return undefined;
  const isDue = waiting.some(({ attempts }) => {
    const { nextTry } = attempts.at(-1) ?? {};
    return nextTry === undefined || Date.parse(nextTry) - nowMs < LATER_MS;
  });
  return isDue ? SOON_MS : LATER_MS;
}
