import { useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, dataOf } from '../api.js';
import { Badge } from '../components/badge.js';
import { CopyText } from '../components/copy.js';
import { TextField } from '../components/forms/field.js';
import { Page, Panel } from '../components/panel.js';
import { Empty, Loading, ProblemNote, Show } from '../components/states.js';
import { toast } from '../components/toasts.js';
import { connectionTitle } from '../format.js';
import { useAction, useData } from '../hooks/use-data.js';
import { useSettled } from '../hooks/use-settled.js';
import { pathOf, withQuery } from '../navigation.js';
import { mayWrite, type Site, useSession } from '../session.js';
import type { Connection } from '../views/connection-view.js';
import { isEdited, type MappingRow, mappingChanges, mappingRows } from '../views/mapping-view.js';

/** How events and fields are named for each platform, with what the platform would get. */
export function Mapping({ site }: { site: Site }) {
  const { path, query, route } = useLocation();
  const params = { path: { site: site.host } };
  const loaded = useData(`connections ${site.host}`, () =>
    dataOf(api.GET('/api/v1/sites/{site}/connections', { params })),
  );
  const connected = loaded.data?.items.filter((item) => item.connected) ?? [];
  // Edits of each platform stay while others are looked at, and after an error.
  const [drafts, setDrafts] = useState<Readonly<Record<string, readonly MappingRow[]>>>({});
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
            onChange={(event) => route(withQuery(path, { platform: event.currentTarget.value }))}
          >
            {connected.map(({ platform, settings }) => (
              <option key={platform} value={platform}>
                {connectionTitle(platform)}
                {isEdited(settings, drafts[platform]) && ' (edited)'}
              </option>
            ))}
          </select>
        )
      }
    >
      <Show of={loaded}>
        {() =>
          chosen ? (
            <Editor
              key={chosen.platform}
              site={site.host}
              connection={chosen}
              rows={drafts[chosen.platform] ?? mappingRows(chosen.settings)}
              onRows={(rows) => setDrafts((before) => ({ ...before, [chosen.platform]: rows }))}
              onSaved={loaded.reload}
            />
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
  rows: readonly MappingRow[];
  onRows(rows: readonly MappingRow[]): void;
  onSaved(): void;
}

function Editor({ site, connection, rows, onRows, onSaved }: EditorProps) {
  const { user } = useSession();
  const { platform, settings } = connection;
  const action = useAction();
  const changes = mappingChanges(settings, rows);
  const isChanged = isEdited(settings, rows);
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
  const list = (kind: MappingRow['kind']) => <Rows kind={kind} rows={rows} isReadOnly={isReadOnly} onChange={onRows} />;
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

/** What the platform would get with these settings, for a sample purchase or a stored order. Nothing is sent or saved. */
function Preview({ site, platform, changes }: PreviewProps) {
  const [order, setOrder] = useState('');
  const wanted = useSettled(JSON.stringify({ order: order.trim(), settings: changes }));
  const preview = useData(`preview ${site} ${platform} ${wanted}`, () => {
    const { order, settings } = JSON.parse(wanted) as { order: string; settings: Record<string, string> };
    const body = order === '' ? { sample: true as const, settings } : { order, settings };
    const params = { path: { site, connection: platform } };
    const answer = dataOf(api.POST('/api/v1/sites/{site}/connections/{connection}/preview', { params, body }));
    return answer.then((preview) => ({ ...preview, of: order }));
  });
  // The last answer stays while the next is on its way: the payload does not flicker with each key.
  const last = useRef(preview.data);
  if (preview.data) last.current = preview.data;
  const shown = preview.problem ? undefined : (preview.data ?? last.current);
  return (
    <Panel
      title="Preview"
      note={
        shown && (
          <>
            {shown.of === '' ? 'of a sample purchase' : `of ${shown.of}`}{' '}
            <Badge tone={shown.status === 'sent' ? 'ok' : 'warn'}>would be {shown.status}</Badge>
          </>
        )
      }
    >
      <div class="pad">
        <TextField
          label="Order (optional)"
          placeholder="ORD-1"
          help="One that was received, in place of the sample."
          value={order}
          onValue={setOrder}
        />
        <ProblemNote problem={preview.problem} />
        {!shown && !preview.problem && <Loading />}
        {shown?.payload !== undefined && <CopyText label="Payload" text={JSON.stringify(shown.payload, null, 2)} />}
        {shown && shown.payload === undefined && <p>{shown.reason}</p>}
      </div>
    </Panel>
  );
}
