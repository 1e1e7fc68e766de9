import type { Schemas } from '../../api.js';
import type { Pages } from '../../hooks/use-pages.js';
import { eventTitle } from '../../stream/live-events.js';
import { auditActor, auditDetail } from '../../views/audit-view.js';
import { Time } from '../basics.js';
import { Empty, Panel } from '../frame.js';
import { PagedTable } from '../table.js';

type Change = Schemas['AuditEvent'];

interface ChangesProps {
  pages: Pages<Change>;
  /** The user that a change is about, if it is about one. */
  subjectOf?: (change: Change) => string;
}

/** Who changed what, newest first. */
export function Changes({ pages, subjectOf }: ChangesProps) {
  return (
    <Panel>
      <PagedTable
        label="Changes"
        pages={pages}
        empty={<Empty title="Nothing was changed yet" />}
        rowKey={({ position }) => position}
        columns={[
          { title: 'Time', cell: ({ time }) => <Time time={time} /> },
          { title: 'Who', cell: ({ actor, actorName }) => auditActor(actor, actorName) },
          { title: 'Change', cell: ({ type }) => <strong>{eventTitle(type)}</strong> },
          ...(subjectOf ? [{ title: 'User', cell: subjectOf }] : []),
          { title: 'Details', kind: 'text', cell: ({ data }) => <span class="dim">{auditDetail(data)}</span> },
          { title: 'Position', kind: 'number', isMinor: true, cell: ({ position }) => position },
        ]}
      />
    </Panel>
  );
}
