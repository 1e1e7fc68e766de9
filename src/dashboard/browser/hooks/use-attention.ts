import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useRef } from 'preact/hooks';
import { api, type Schemas, whenChanged } from '../api.js';
import { type AttentionItem, attentionOf, type Badges, badgesOf } from '../views/attention-view.js';
import { type Loaded, useData, useInterval } from './use-data.js';

const EVERY_MS = 60_000;
/** What a change has solved is read once the projections have it; of several changes once. */
const AFTER_CHANGE_MS = 1_000;

export interface Attention extends Loaded<Schemas['Attention']> {
  /** At the site that is open, and what concerns no site. */
  readonly items: readonly AttentionItem[];
  /** By page. */
  readonly badges: Badges;
}

const NONE: Attention = { items: [], badges: {}, data: undefined, problem: undefined, reload() {}, set() {} };

/** Outside of the shell nothing is known of it. */
export const AttentionContext = createContext<Attention>(NONE);

export function useAttention(): Attention {
  return useContext(AttentionContext);
}

/** Read when a page is opened, after changes, and every minute while the page is visible. */
export function useReadAttention(site: string | undefined, path: string): Attention {
  const loaded = useData('attention', (signal) => api.GET('/api/v1/attention', { signal }));
  const { reload, data } = loaded;
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) reload();
    isFirst.current = false;
  }, [path, reload]);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = whenChanged(() => {
      clearTimeout(timer);
      timer = setTimeout(reload, AFTER_CHANGE_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [reload]);
  useInterval(useCallback(reload, [reload]), EVERY_MS);
  const items = attentionOf(data?.items ?? [], site);
  return { ...loaded, items, badges: badgesOf(items) };
}
