import { api, dataOf, type Schemas } from './api.js';
import { attempt } from './components/toasts.js';
import { mayWrite, useSession } from './session.js';
import { type Loaded, useData } from './use-data.js';

export type SiteSettings = Schemas['SiteSettings'];
type Change = Partial<Schemas['SiteSettingsChange']>;

interface SiteSettingsState {
  readonly loaded: Loaded<SiteSettings>;
  readonly isReadOnly: boolean;
  /** Saves at once. What was saved, or the former value after an error, is then shown. */
  change(change: Change): Promise<void>;
}

export function useSiteSettings(site: string): SiteSettingsState {
  const { user } = useSession();
  const params = { path: { site } };
  const loaded = useData(`settings ${site}`, () => dataOf(api.GET('/api/v1/sites/{site}/settings', { params })));
  const change = (body: Change) =>
    attempt(async () => {
      try {
        loaded.set(await dataOf(api.PATCH('/api/v1/sites/{site}/settings', { params, body })));
      } catch (error) {
        loaded.reload();
        throw error;
      }
      return 'Saved';
    });
  return { loaded, isReadOnly: !mayWrite(user), change };
}
