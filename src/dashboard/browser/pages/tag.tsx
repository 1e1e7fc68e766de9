import { CopyText } from '../components/basics.js';
import { CheckField } from '../components/forms/fields.js';
import { ListEditor } from '../components/forms/list-editor.js';
import { Page, Panel, Show } from '../components/frame.js';
import { TagCheck } from '../components/tag-check.js';
import { tagSnippet } from '../curl-line.js';
import { useSiteSettings } from '../hooks/use-site-settings.js';
import { type Site, useSession } from '../session.js';

/** The browser tag: what to paste, and what it may read. */
export function Tag({ site }: { site: Site }) {
  const { localUrl } = useSession();
  const { loaded, change, isReadOnly } = useSiteSettings(site.host);
  return (
    <Page title="Tag" note="Links a conversion to the ad click that brought the customer">
      <Panel title="Snippet" note="Into the head of every page">
        <div class="pad">
          <CopyText label="Snippet" text={tagSnippet(site.host, localUrl)} />
          <p class="dim">
            The tag reports to the host that it is loaded from: {[site.host, ...site.aliases].join(', ')}. Route{' '}
            <code>/__cc/*</code> of that host to the service.
          </p>
        </div>
      </Panel>
      <Panel title="Seen on your site">
        <div class="pad">
          <TagCheck site={site.host} />
        </div>
      </Panel>
      <Show of={loaded}>
        {(settings) => (
          <>
            <Panel title="Email addresses in forms">
              <div class="pad">
                <CheckField
                  label="Read the address when a form is submitted"
                  help="It is hashed in the browser; the address itself is neither stored nor sent."
                  value={settings.emailCapture}
                  isDisabled={isReadOnly}
                  onValue={(emailCapture) => void change({ emailCapture })}
                />
              </div>
            </Panel>
            <Panel title="Other hosts" note="Whose pages may use the tag, besides the site’s own">
              <ListEditor
                label="Host"
                placeholder="other.example"
                values={settings.origins}
                isReadOnly={isReadOnly}
                onChange={(entry) =>
                  change({ origins: 'add' in entry ? { add: [entry.add] } : { remove: [entry.remove] } })
                }
              />
            </Panel>
          </>
        )}
      </Show>
    </Page>
  );
}
