import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, dataOf } from '../api.js';
import { TextField } from '../components/forms/field.js';
import { Page } from '../components/panel.js';
import { Empty, ProblemNote } from '../components/states.js';
import { useAction } from '../hooks/use-data.js';
import { pathOf } from '../navigation.js';
import { fieldError } from '../problem.js';
import { mayOperateAll, useSession } from '../session.js';

/** Adds a site that accepts conversions, and continues with its first steps. */
export function AddSite() {
  const { user, sites, reloadSites } = useSession();
  const { route } = useLocation();
  const [host, setHost] = useState('');
  const [added, setAdded] = useState<{ typed: string; host: string; isReady: boolean }>();
  const action = useAction();
  const add = () =>
    action.run(async () => {
      const typed = host.trim();
      // After an attempt of which only the first request succeeded, the site exists.
      const site = added?.typed === typed ? added : await dataOf(api.POST('/api/v1/sites', { body: { host: typed } }));
      setAdded({ typed, host: site.host, isReady: false });
      const params = { path: { site: site.host } };
      await dataOf(api.PUT('/api/v1/sites/{site}/inbound', { params, body: { enabled: true } }));
      setAdded({ typed, host: site.host, isReady: true });
      reloadSites();
    });
  const isListed = added?.isReady && sites.some((site) => site.host === added.host);
  useEffect(() => {
    // Not before the list has it: the page of an unknown site does not exist.
    if (added && isListed) route(pathOf(added.host, 'first-steps'));
  }, [isListed]);
  if (!mayOperateAll(user))
    return (
      <Page title="Sites">
        {sites.length === 0 ? (
          <Empty title="You see no site yet">Ask an administrator to give you access to one.</Empty>
        ) : (
          <Empty title="You may not add sites">Ask someone who operates all sites.</Empty>
        )}
      </Page>
    );
  return (
    <Page
      title={sites.length === 0 ? 'Add your first site' : 'Add a site'}
      note="A site is the shop or product whose conversions are counted and delivered"
    >
      <form
        class="panel pad narrow"
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <TextField
          label="Host"
          required
          autofocus
          placeholder="shop.example"
          help="Without https://. Conversions are posted to it, and the tag is loaded from it."
          error={fieldError(action.problem, 'host')}
          value={host}
          onValue={setHost}
        />
        <ProblemNote problem={action.problem} />
        <div class="buttons">
          <button type="submit" class="primary" disabled={action.isBusy}>
            Add the site
          </button>
        </div>
      </form>
    </Page>
  );
}
