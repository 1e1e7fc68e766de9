/** Work that takes longer lets the event loop continue: other requests are answered in between. */
const TURN_MS = 5;

/** Called between the steps of long work: waits for the next turn of the event loop once this one has taken too long. */
export type Pause = () => Promise<void>;

export function pauseBetweenTurns(turnMs = TURN_MS): Pause {
  let began = performance.now();
  return async () => {
    if (performance.now() - began < turnMs) return;
    await new Promise((next) => setImmediate(next));
    began = performance.now();
  };
}
