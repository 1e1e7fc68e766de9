import { useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, clock } from '../api.js';
import { Badge, Button, CopyJson, Time } from '../components/basics.js';
import { Choice, Form, TextField } from '../components/forms/fields.js';
import { Empty, Loading, Page, Panel, ProblemNote, Show } from '../components/frame.js';
import { Table } from '../components/table.js';
import { toast } from '../components/toasts.js';
import { connectionTitle, counted } from '../format.js';
import { useData, useGet } from '../hooks/use-data.js';
import { useSettled } from '../hooks/use-settled.js';
import { pathOf, withQuery } from '../navigation.js';
import { type Site, useSession } from '../session.js';
import type { Connection } from '../views/connection-view.js';
import { eventRows, isEdited, type MappingRow, mappingChanges, mappingRows } from '../views/mapping-view.js';

const RECEIVED_MS = 30 * 24 * 60 * 60 * 1_000;

/** How events and fields are named for each platform, with what the platform would get. */
export function Mapping({ site }: { site: Site }) {
  const { path, query, route } = useLocation();
  const loaded = useGet('/api/v1/sites/{site}/connections', { path: { site: site.host } });
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
          <Choice
            label="Platform"
            value={chosen.platform}
            options={connected.map(({ platform, settings }) => [
              platform,
              `${connectionTitle(platform)}${isEdited(settings, drafts[platform]) ? ' (edited)' : ''}`,
            ])}
            onValue={(platform) => route(withQuery(path, { platform }))}
          />
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
            <Panel>
              <Empty title="No platform is connected">
                <a href={pathOf(site.host, 'integrations')}>Connect one</a> to choose how its events are named.
              </Empty>
            </Panel>
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
  const { isWriter } = useSession();
  const { platform, settings } = connection;
  const changes = mappingChanges(settings, rows);
  const save = async () => {
    const path = { site, connection: platform };
    await api.PUT('/api/v1/sites/{site}/connections/{connection}', { path, body: { settings: changes } });
    onSaved();
    toast('Saved. Conversions received from now on use it');
  };
  const isReadOnly = !isWriter;
  const list = (kind: MappingRow['kind']) => <Rows kind={kind} rows={rows} isReadOnly={isReadOnly} onChange={onRows} />;
  const add = (name: string, value: string) => onRows([...rows, { kind: 'event', name, value }]);
  return (
    <>
      <ReceivedEvents site={site} connection={connection} rows={rows} onMap={isReadOnly ? undefined : add} />
      <div class="two">
        <Form
          verb="Save"
          isReadOnly={isReadOnly}
          isReady={isEdited(settings, rows)}
          isChanged={isEdited(settings, rows)}
          onSubmit={save}
        >
          <Panel title="Events" note="your event → the platform’s name or id">
            {list('event')}
          </Panel>
          <Panel title="Fields" note="the platform’s field → your value, or a text in quotes">
            {list('field')}
          </Panel>
        </Form>
        {!isReadOnly && <Preview site={site} platform={platform} changes={changes} />}
      </div>
    </>
  );
}

interface ReceivedEventsProps {
  site: string;
  connection: Connection;
  rows: readonly MappingRow[];
  onMap: ((event: string, value: string) => void) | undefined;
}

/** The events that were received, and where they go with the settings as they are stored. */
function ReceivedEvents({ site, connection, rows, onMap }: ReceivedEventsProps) {
  const { platform, settings } = connection;
  const [from] = useState(() => new Date(clock.nowMs() - RECEIVED_MS).toISOString());
  const received = useData(`received events ${site} ${JSON.stringify(settings)}`, () =>
    api.GET('/api/v1/sites/{site}/received-events', { path: { site }, query: { from } }),
  );
  return (
    <Panel title="Received events" note="of the last 30 days, and where they go">
      <Show of={received}>
        {({ items }) => (
          <Table
            label="Received events"
            rows={eventRows(items, platform, rows)}
            rowKey={({ event }) => event}
            empty={<Empty title="No conversion was received in the last 30 days" />}
            columns={[
              { title: 'Event', kind: 'code', cell: ({ event }) => event },
              { title: 'Conversions', kind: 'number', isMinor: true, cell: ({ conversions }) => conversions },
              { title: 'Last seen', isMinor: true, cell: ({ lastSeen }) => <Time time={lastSeen} as="age" /> },
              {
                title: 'Where it goes',
                kind: 'text',
                cell: ({ sentTo, notSent }) => (
                  <div class="badges">
                    {sentTo > 0 && <Badge tone="ok">sent to {counted(sentTo, 'platform')}</Badge>}
                    {notSent.map(({ connection, words, tone }) => (
                      <Badge key={connection} tone={tone}>
                        {words}
                      </Badge>
                    ))}
                  </div>
                ),
              },
              {
                title: connectionTitle(platform),
                cell: ({ event, mapTo }) =>
                  mapTo &&
                  onMap && <Button label={mapTo.label} about={event} onClick={() => onMap(event, mapTo.value)} />,
              },
            ]}
          />
        )}
      </Show>
    </Panel>
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
  const [nameTitle, valueTitle] =
    kind === 'event' ? (['Your event', 'Platform’s event'] as const) : (['Platform’s field', 'Value'] as const);
  const cell = (title: string, value: string, onValue: (value: string) => void) => (
    <input
      aria-label={title}
      placeholder={title}
      readOnly={isReadOnly}
      value={value}
      onInput={(event) => onValue(event.currentTarget.value)}
    />
  );
  return (
    <div class="pad">
      {rows.map(
        (row, index) =>
          row.kind === kind && (
            <div key={index} class="mapping">
              {cell(nameTitle, row.name, (name) => replace(index, { ...row, name }))}
              <span aria-hidden="true">→</span>
              {cell(valueTitle, row.value, (value) => replace(index, { ...row, value }))}
              {!isReadOnly && (
                <Button
                  kind="quiet"
                  label="✕"
                  name={`Remove ${row.name}`}
                  onClick={() => onChange(rows.toSpliced(index, 1))}
                />
              )}
            </div>
          ),
      )}
      {!isReadOnly && (
        <Button
          label={kind === 'event' ? 'Add an event' : 'Add a field'}
          onClick={() => onChange([...rows, { kind, name: '', value: '' }])}
        />
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
    const path = { site, connection: platform };
    const answer = api.POST('/api/v1/sites/{site}/connections/{connection}/preview', { path, body });
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
        {shown?.payload !== undefined && <CopyJson label="Payload" value={shown.payload} />}
        {shown && shown.payload === undefined && <p>{shown.reason}</p>}
      </div>
    </Panel>
  );
}
