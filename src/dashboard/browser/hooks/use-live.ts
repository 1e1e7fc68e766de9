import { useCallback, useEffect, useRef } from 'preact/hooks';
import type { EventType } from '../api.js';
import { isAttended, whenAttended } from '../attended.js';
import { LiveRead } from '../stream/live-read.js';
import { Updates } from '../stream/updates.js';
import type { Loaded } from './use-data.js';
import { useEventStream } from './use-event-stream.js';

const updates = new Updates(isAttended());
whenAttended((isOn) => updates.turn(isOn));

/** A function that has the latest `work` done: soon, and at most every two seconds. */
export function useUpdate(work: () => void): () => void {
  const latest = useRef(work);
  latest.current = work;
  const run = useCallback(() => latest.current(), []);
  useEffect(() => () => updates.cancel(run), [run]);
  return useCallback(() => updates.ask(run), [run]);
}

/** Reads a resource of a site again after events of these types, until it is as of the newest of them. */
export function useLive<Data>(
  site: string | undefined,
  types: readonly EventType[],
  { data, problem, reload }: Loaded<Data>,
  positionOf: (data: Data) => number,
): void {
  const live = useRef(new LiveRead()).current;
  const update = useUpdate(() => {
    if (live.begin(performance.now())) reload();
    else if (live.isDue) update();
  });
  const updateIfDue = () => live.isDue && update();
  const position = data && positionOf(data);
  useEffect(() => {
    live.ended(position, performance.now());
    updateIfDue();
  }, [data, problem]);
  // The stream has the later ones.
  const first = useRef({ site, position });
  if (first.current.site !== site || first.current.position === undefined) first.current = { site, position };
  useEventStream({
    site: site ?? '',
    types,
    after: site === undefined ? undefined : first.current.position,
    onEvents: (events) => {
      live.changed(events.at(-1)?.position ?? 0);
      updateIfDue();
    },
    onSkipped: (until) => {
      live.skipped(until);
      updateIfDue();
    },
  });
}
