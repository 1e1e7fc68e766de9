import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Of the process, whose code and caches take 100 MB. */
const COLLECT_ABOVE_BYTES = 160e6;
const STEP_BYTES = 16e6;

/**
 * Keeps a long run below 200 MB. Left alone, V8 lets the garbage of many short-lived objects grow to several times what is
 * in use, because the machine has more memory.
 */
export class MemoryBound {
  private collect: (() => void) | undefined;
  private above = COLLECT_ABOVE_BYTES;

  /** Cheap enough to be called for every few hundred lines. */
  check(): void {
    if (process.memoryUsage.rss() < this.above) return;
    this.collect ??= exposedCollector();
    this.collect();
    // What is in use may be more on another system: then a collection is worth it only after further growth.
    this.above = Math.max(COLLECT_ABOVE_BYTES, process.memoryUsage.rss() + STEP_BYTES);
  }
}

function exposedCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
