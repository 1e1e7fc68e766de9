import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Answer, api, type InputArguments, type PathWith, reachability } from '../api.js';
import { type Problem, problemOf } from '../problem.js';

export interface Loaded<Data> {
  /** Undefined until the first answer. */
  readonly data: Data | undefined;
  /** Problem of the latest request. Earlier data stays visible beside it. */
  readonly problem: Problem | undefined;
  reload(): void;
  /** Replaces the data by what a change answered. */
  set(data: Data): void;
}

/**
 * Loads data again whenever `key` changes: it names everything that `load` depends on. Another `version` loads the newest data
 * of the same key; what was loaded stays until it is there. The signal says that the data is no longer needed.
 */
export function useData<Data>(key: string, load: (signal: AbortSignal) => Promise<Data>, version = 0): Loaded<Data> {
  const [state, setState] = useState<{ key: string; data?: Data; problem?: Problem }>({ key });
  const [count, setCount] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    load(signal).then(
      (data) => signal.aborted || setState({ key, data }),
      (error) =>
        signal.aborted ||
        setState((before) => ({ ...(before.key === key ? before : { key }), problem: problemOf(error) })),
    );
    return () => controller.abort();
  }, [key, count, version]);
  const reload = useCallback(() => setCount((before) => before + 1), []);
  const set = useCallback((data: Data) => setState({ key, data }), [key]);
  const isStale = state.key !== key;
  useRecovery(isStale ? undefined : state.problem, reload);
  return { data: isStale ? undefined : state.data, problem: isStale ? undefined : state.problem, reload, set };
}

/** Loads again as soon as the service answers, if the problem was that it did not. */
export function useRecovery(problem: Problem | undefined, reload: () => void): void {
  const isOwed = problem?.status === 0;
  useEffect(() => {
    if (!isOwed) return;
    return reachability.watch(() => reachability.isReachable && reload());
  }, [isOwed, reload]);
}

/** Loads what one request answers. */
export function useGet<Path extends PathWith<'get'>>(
  path: Path,
  ...input: InputArguments<'get', Path>
): Loaded<Answer<'get', Path>> {
  return useData(JSON.stringify([path, ...input]), () => api.GET(path, ...input));
}

/** Whether each has data or an error, so that a page appears at once rather than piece by piece. */
export function areSettled(...all: readonly Pick<Loaded<unknown>, 'data' | 'problem'>[]): boolean {
  return all.every(({ data, problem }) => data !== undefined || problem !== undefined);
}

export interface Action {
  readonly isBusy: boolean;
  readonly problem: Problem | undefined;
  /** Runs the work unless another is running. True if it succeeded. */
  run(work: () => Promise<unknown>): Promise<boolean>;
}

/** A change that the user starts: one at a time, with its error. */
export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  // Not the state, which a second click in the same frame does not see yet.
  const isRunning = useRef(false);
  const run = async (work: () => Promise<unknown>) => {
    if (isRunning.current) return false;
    isRunning.current = true;
    setBusy(true);
    setProblem(undefined);
    try {
      await work();
      return true;
    } catch (error) {
      setProblem(problemOf(error));
      return false;
    } finally {
      isRunning.current = false;
      setBusy(false);
    }
  };
  return { isBusy, problem, run };
}

/** Calls `work` every so often while the page is visible. */
export function useInterval(work: () => void, everyMs: number, isOn = true): void {
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => document.visibilityState === 'visible' && work(), everyMs);
    return () => clearInterval(timer);
  }, [work, everyMs, isOn]);
}
