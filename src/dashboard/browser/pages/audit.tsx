import { api, dataOf, type Schemas } from '../api.js';
import { auditActor, auditDetail } from '../audit-view.js';
import { Paged } from '../components/paged.js';
import { Page } from '../components/panel.js';
import { Empty } from '../components/states.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { formatNumber } from '../format.js';
import { eventTitle } from '../live-events.js';
import type { Site } from '../session.js';
import { usePages } from '../use-pages.js';

type Event = Schemas['AuditEvent'];

/** Who changed the site and its settings, newest first. */
export function Audit({ site }: { site: Site }) {
  const params = { path: { site: site.host } };
  const pages = usePages<Event>(`audit ${site.host}`, (cursor) =>
    dataOf(
      api.GET('/api/v1/sites/{site}/audit', { params: { ...params, query: cursor === undefined ? {} : { cursor } } }),
    ),
  );
  return (
    <Page title="Audit" note={`Who changed ${site.host} and its settings`}>
      <section class="panel">
        <Paged pages={pages} empty={<Empty title="Nothing was changed yet" />}>
          {(items) => (
            <Table
              label="Changes"
              rows={items}
              rowKey={({ position }) => position}
              columns={[
                { title: 'Time', cell: ({ time }) => <Time time={time} /> },
                { title: 'Who', cell: ({ actor, actorName }) => auditActor(actor, actorName) },
                { title: 'Change', cell: ({ type }) => <strong>{eventTitle(type)}</strong> },
                { title: 'Details', isText: true, cell: ({ data }) => <span class="dim">{auditDetail(data)}</span> },
                { title: 'Position', isNumber: true, isMinor: true, cell: ({ position }) => formatNumber(position) },
              ]}
            />
          )}
        </Paged>
      </section>
    </Page>
  );
}
