/** Undefined where it throws: storage and cookies can be forbidden, text can be badly encoded. */
export function attempt<T>(what: () => T): T | undefined {
  try {
    return what();
  } catch {
    return undefined;
  }
}

/** For what the page calls: a tag that fails must not be noticed by a shop that works. */
export function guarded<A extends unknown[]>(what: (...args: A) => void): (...args: A) => void {
  return (...args) => attempt(() => what(...args));
}

/** Runs `then` after every call of the method, with the call's arguments: what the page called comes first, as it was. */
export function after<K extends string>(
  owner: Record<K, (...args: never[]) => unknown>,
  name: K,
  then: (...args: unknown[]) => void,
): void {
  const original = owner[name];
  owner[name] = function (this: unknown, ...args: never[]) {
    const result = original.apply(this, args);
    then(...args);
    return result;
  };
}

/** Calls on the page's `dataLayer`, those made before and those still to come, as soon as there is one. */
export function watchDataLayer(hear: (call: ArrayLike<unknown>) => void): () => void {
  let watched: unknown;
  return () => {
    const { dataLayer } = window as unknown as { dataLayer?: ArrayLike<unknown>[] };
    if (dataLayer === watched || !Array.isArray(dataLayer)) return;
    watched = dataLayer;
    const hearAll = guarded((...calls: unknown[]) => {
      for (const call of calls) if (call) hear(call as ArrayLike<unknown>);
    });
    hearAll(...dataLayer);
    after(dataLayer as never, 'push', hearAll);
  };
}
