import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, dataOf } from '../api.js';
import { Badge } from '../components/badge.js';
import { CopyText } from '../components/copy.js';
import { Page, Panel } from '../components/panel.js';
import { Empty, ProblemNote, Show } from '../components/states.js';
import { toast } from '../components/toasts.js';
import type { Connection } from '../connection-view.js';
import { connectionTitle } from '../format.js';
import { type MappingRow, mappingChanges, mappingRows } from '../mapping-view.js';
import { pathOf } from '../navigation.js';
import { mayWrite, type Site, useSession } from '../session.js';
import { useAction, useData } from '../use-data.js';

/** After the last key, before the preview is asked for. */
const PREVIEW_AFTER_MS = 400;

/** How events and fields are named for each platform, with what the platform would get. */
export function Mapping({ site }: { site: Site }) {
  const { path, query, route } = useLocation();
  const params = { path: { site: site.host } };
  const loaded = useData(`connections ${site.host}`, () =>
    dataOf(api.GET('/api/v1/sites/{site}/connections', { params })),
  );
  const connected = loaded.data?.items.filter((item) => item.connected) ?? [];
  const chosen = connected.find(({ platform }) => platform === query['platform']) ?? connected[0];
  return (
    <Page
      title="Mapping"
      note="How your events and values are named for a platform"
      actions={
        chosen && (
          <select
            aria-label="Platform"
            value={chosen.platform}
            onChange={(event) => route(`${path}?platform=${event.currentTarget.value}`)}
          >
            {connected.map(({ platform }) => (
              <option key={platform} value={platform}>
                {connectionTitle(platform)}
              </option>
            ))}
          </select>
        )
      }
    >
      <Show of={loaded}>
        {() =>
          chosen ? (
            <Editor key={chosen.platform} site={site.host} connection={chosen} onSaved={loaded.reload} />
          ) : (
            <section class="panel">
              <Empty title="No platform is connected">
                <a href={pathOf(site.host, 'integrations')}>Connect one</a> to choose how its events are named.
              </Empty>
            </section>
          )
        }
      </Show>
    </Page>
  );
}

interface EditorProps {
  site: string;
  connection: Connection;
  onSaved(): void;
}

function Editor({ site, connection, onSaved }: EditorProps) {
  const { user } = useSession();
  const { platform, settings } = connection;
  const [rows, setRows] = useState<readonly MappingRow[]>(() => mappingRows(settings));
  const action = useAction();
  const changes = mappingChanges(settings, rows);
  const isChanged = Object.keys(changes).length > 0;
  const save = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      const path = { site, connection: platform };
      await dataOf(
        api.PUT('/api/v1/sites/{site}/connections/{connection}', { params: { path }, body: { settings: changes } }),
      );
      onSaved();
      toast('Saved. Conversions received from now on use it');
    });
  };
  const isReadOnly = !mayWrite(user);
  const list = (kind: MappingRow['kind']) => (
    <Rows kind={kind} rows={rows} isReadOnly={isReadOnly} onChange={setRows} />
  );
  return (
    <div class="two">
      <form onSubmit={save}>
        <Panel title="Events" note="your event → the platform’s name or id">
          {list('event')}
        </Panel>
        <Panel title="Fields" note="the platform’s field → your value, or a text in quotes">
          {list('field')}
        </Panel>
        <ProblemNote problem={action.problem} />
        {!isReadOnly && (
          <div class="buttons">
            <button type="submit" class="primary" disabled={!isChanged || action.isBusy}>
              Save
            </button>
          </div>
        )}
      </form>
      {!isReadOnly && <Preview site={site} platform={platform} changes={changes} />}
    </div>
  );
}

interface RowsProps {
  kind: MappingRow['kind'];
  rows: readonly MappingRow[];
  isReadOnly: boolean;
  onChange(rows: readonly MappingRow[]): void;
}

function Rows({ kind, rows, isReadOnly, onChange }: RowsProps) {
  const replace = (index: number, row: MappingRow) => onChange(rows.with(index, row));
  const titles = kind === 'event' ? ['Your event', 'Platform’s event'] : ['Platform’s field', 'Value'];
  return (
    <div class="pad">
      {rows.map(
        (row, index) =>
          row.kind === kind && (
            <div key={index} class="mapping">
              <input
                aria-label={titles[0]}
                placeholder={titles[0]}
                readOnly={isReadOnly}
                value={row.name}
                onInput={(event) => replace(index, { ...row, name: event.currentTarget.value })}
              />
              <span aria-hidden="true">→</span>
              <input
                aria-label={titles[1]}
                placeholder={titles[1]}
                readOnly={isReadOnly}
                value={row.value}
                onInput={(event) => replace(index, { ...row, value: event.currentTarget.value })}
              />
              {!isReadOnly && (
                <button
                  type="button"
                  class="quiet"
                  aria-label={`Remove ${row.name}`}
                  onClick={() => onChange(rows.toSpliced(index, 1))}
                >
                  ✕
                </button>
              )}
            </div>
          ),
      )}
      {!isReadOnly && (
        <button type="button" onClick={() => onChange([...rows, { kind, name: '', value: '' }])}>
          Add {kind === 'event' ? 'an event' : 'a field'}
        </button>
      )}
    </div>
  );
}

interface PreviewProps {
  site: string;
  platform: string;
  changes: Readonly<Record<string, string>>;
}

/** What the platform would get for a sample purchase with these settings. Nothing is sent or saved. */
function Preview({ site, platform, changes }: PreviewProps) {
  const wanted = JSON.stringify(changes);
  const [settled, setSettled] = useState(wanted);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(wanted), PREVIEW_AFTER_MS);
    return () => clearTimeout(timer);
  }, [wanted]);
  const preview = useData(`preview ${site} ${platform} ${settled}`, () =>
    dataOf(
      api.POST('/api/v1/sites/{site}/connections/{connection}/preview', {
        params: { path: { site, connection: platform } },
        body: { sample: true, settings: JSON.parse(settled) as Record<string, string> },
      }),
    ),
  );
  const status = preview.data?.status;
  return (
    <Panel
      title="Preview"
      note={
        <>of a sample purchase {status && <Badge tone={status === 'sent' ? 'ok' : 'warn'}>would be {status}</Badge>}</>
      }
    >
      <div class="pad">
        <Show of={preview}>
          {({ payload, reason }) =>
            payload === undefined ? (
              <p>{reason}</p>
            ) : (
              <CopyText label="Payload" text={JSON.stringify(payload, null, 2)} />
            )
          }
        </Show>
      </div>
    </Panel>
  );
}
