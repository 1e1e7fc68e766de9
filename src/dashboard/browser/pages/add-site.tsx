import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api } from '../api.js';
import { Form, TextField } from '../components/forms/fields.js';
import { Empty, Page } from '../components/frame.js';
import { pathOf } from '../navigation.js';
import { mayOperateAll, useSession } from '../session.js';

/** That of an address, or else the text itself. */
function hostIn(text: string): string {
  return /^https?:/i.test(text) && URL.canParse(text) ? new URL(text).hostname : text;
}

/** Adds a site that accepts conversions, and continues with its first steps. */
export function AddSite() {
  const { user, sites, reloadSites } = useSession();
  const { route } = useLocation();
  const [host, setHost] = useState('');
  const [added, setAdded] = useState<{ typed: string; host: string; isReady: boolean }>();
  const add = async () => {
    const typed = hostIn(host.trim());
    // After an attempt of which only the first request succeeded, the site exists.
    const site = added?.typed === typed ? added : await api.POST('/api/v1/sites', { body: { host: typed } });
    setAdded({ typed, host: site.host, isReady: false });
    await api.PUT('/api/v1/sites/{site}/inbound', { path: { site: site.host }, body: { enabled: true } });
    setAdded({ typed, host: site.host, isReady: true });
    reloadSites();
  };
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
      <Form class="panel pad narrow" verb="Add the site" onSubmit={add}>
        <TextField
          label="Host"
          name="host"
          required
          autofocus
          placeholder="shop.example"
          help="Or its address, such as https://shop.example/. Conversions are posted to it, and the tag is loaded from it."
          value={host}
          onValue={setHost}
        />
      </Form>
    </Page>
  );
}
