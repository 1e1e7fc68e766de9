import { createContext } from 'preact';
import { useContext, useEffect } from 'preact/hooks';
import { api, type Schemas, whenChanged } from '../api.js';
import { whenAttended } from '../attended.js';
import { CHANGING } from '../stream/changing-types.js';
import { type AttentionItem, attentionOf, type Badges, badgesOf } from '../views/attention-view.js';
import { type Loaded, useData, useInterval } from './use-data.js';
import { useLive, useUpdate } from './use-live.js';

const EVERY_MS = 60_000;

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

/** Read when the tab is shown, after events of the site that is open and changes, and every minute, because time changes it. */
export function useReadAttention(site: string | undefined): Attention {
  const loaded = useData('attention', (signal) => api.GET('/api/v1/attention', { signal }));
  const { reload, data } = loaded;
  useLive(site, CHANGING.attention, loaded, ({ asOf }) => asOf.position);
  const update = useUpdate(reload);
  useEffect(() => whenChanged(update), [update]);
  useEffect(() => whenAttended((isOn) => isOn && update()), [update]);
  useInterval(reload, EVERY_MS);
  const items = attentionOf(data?.items ?? [], site);
  return { ...loaded, items, badges: badgesOf(items) };
}
