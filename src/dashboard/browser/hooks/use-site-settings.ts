import { useRef } from 'preact/hooks';
import { api, type Schemas } from '../api.js';
import { toast } from '../components/toasts.js';
import { problemOf } from '../problem.js';
import { useSession } from '../session.js';
import { type Loaded, useGet } from './use-data.js';

export type SiteSettings = Schemas['SiteSettings'];
export type SettingsChange = Partial<Schemas['SiteSettingsChange']>;

interface SiteSettingsState {
  readonly loaded: Loaded<SiteSettings>;
  readonly isReadOnly: boolean;
  /** Saves at once. What was saved, or the former value after an error, is then shown. True if it was saved. */
  change(change: SettingsChange): Promise<boolean>;
}

export function useSiteSettings(site: string): SiteSettingsState {
  const { isWriter } = useSession();
  const path = { site };
  const loaded = useGet('/api/v1/sites/{site}/settings', { path });
  const last = useRef<Promise<unknown>>(Promise.resolve());
  const change = (body: SettingsChange) => {
    // One after the other: the answer that is shown is that to the last change.
    const saved = last.current.then(async () => {
      try {
        loaded.set(await api.PATCH('/api/v1/sites/{site}/settings', { path, body }));
        toast('Saved');
        return true;
      } catch (error) {
        toast(problemOf(error).detail, 'bad');
        loaded.reload();
        return false;
      }
    });
    last.current = saved;
    return saved;
  };
  return { loaded, isReadOnly: !isWriter, change };
}
