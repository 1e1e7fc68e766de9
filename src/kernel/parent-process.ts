const CHECK_EVERY_MS = 1_000;

/** Calls back once when the process that started this one has ended, even if it was killed. */
export function onParentEnd(listener: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    listener();
  }, CHECK_EVERY_MS);
  timer.unref();
}
