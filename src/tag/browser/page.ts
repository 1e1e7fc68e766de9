/** Returns undefined instead of throwing: browsers can block storage and cookies, text can be badly encoded. */
export function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}

/** Wraps a callback that the page calls: an error in the tag must never reach the shop's code. */
export function guarded<A extends unknown[]>(callback: (...args: A) => void): (...args: A) => void {
  return (...args) => attempt(() => callback(...args));
}

/** Runs `then` with the same arguments after every call of the method. The original call is unchanged. */
export function afterCall<K extends string>(
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

/** Reports earlier and later pushes to the page's `dataLayer`. Call the result again to find one created late. */
export function watchDataLayer(onPush: (call: ArrayLike<unknown>) => void): () => void {
  let watched: unknown;
  return () => {
    const { dataLayer } = window as Window & { dataLayer?: ArrayLike<unknown>[] };
    if (dataLayer === watched || !Array.isArray(dataLayer)) return;
    watched = dataLayer;
    const onPushes = guarded((...calls: unknown[]) => {
      for (const call of calls) if (call) onPush(call as ArrayLike<unknown>);
    });
    onPushes(...dataLayer);
    afterCall(dataLayer as never, 'push', onPushes);
  };
}
