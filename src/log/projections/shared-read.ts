/** Calls of the same turn of the event loop share one read, which begins after all of them. */
export function sharedRead<Result>(read: () => Promise<Result>): () => Promise<Result> {
  let next: Promise<Result> | undefined;
  return () => {
    next ??= new Promise((resolve) => {
      setImmediate(() => {
        next = undefined;
        resolve(read());
      });
    });
    return next;
  };
}
