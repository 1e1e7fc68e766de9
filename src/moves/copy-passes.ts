/** Events that may be left for the time in which neither cell accepts conversions: its copy takes about a second. */
export const REST_MAX_EVENTS = 5_000;
/** Passes after which the last one must have had clearly less to copy. */
const COMPARED_PASSES = 3;
const SHRUNK_TO = 0.8;

/**
 * What follows a pass, by the number of events that each one has copied. A pass copies what the log had when it began, so that the
 * next one finds what arrived meanwhile: if that does not get less, events arrive as fast as they are copied.
 */
export function afterPass(copied: readonly number[]): 'enough' | 'again' | 'stop' {
  const last = copied.at(-1) ?? 0;
  if (last <= REST_MAX_EVENTS) return 'enough';
  const earlier = copied.at(-1 - COMPARED_PASSES);
  return earlier !== undefined && last > SHRUNK_TO * earlier ? 'stop' : 'again';
}
