import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Memory of the process, whose code and caches take 100 MB. */
const COLLECT_ABOVE_BYTES = 150e6;
/** Asking for the memory in use is a system call. It also falls only some time after a collection. */
const CHECKS_BETWEEN = 10;

/**
 * Keeps a long run below 200 MB. Left alone, V8 lets the garbage of many short-lived objects grow to several times what is
 * in use, because the machine has more memory.
 */
export class MemoryBound {
  private collect: (() => void) | undefined;
  private checks = 0;

  /** Cheap enough to be called for every hundred lines. */
  check(): void {
    this.checks += 1;
    if (this.checks < CHECKS_BETWEEN) return;
    this.checks = 0;
    if (process.memoryUsage.rss() < COLLECT_ABOVE_BYTES) return;
    this.collect ??= exposedCollector();
    this.collect();
  }
}

function exposedCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
