import type { Schemas } from '../api.js';
import { formatNumber } from '../format.js';
import { unusedFieldRows } from '../views/unused-fields-view.js';
import { AsOf } from './basics.js';
import { Panel } from './frame.js';
import { Table } from './table.js';

/** What senders stated and the service did not use; nothing while there is none. */
export function UnusedFields({ fields: { items, asOf } }: { fields: Schemas['UnusedFields'] }) {
  const rows = unusedFieldRows(items);
  if (rows.length === 0) return null;
  return (
    <Panel title="Fields not used" note={<AsOf time={asOf.time} />}>
      <Table
        label="Fields not used"
        rows={rows}
        rowKey={({ name, advice }) => `${name} ${advice}`}
        empty={null}
        columns={[
          { title: 'Field', cell: ({ name, isCode }) => (isCode ? <code>{name}</code> : name) },
          { title: 'Conversions', kind: 'number', cell: ({ conversions }) => formatNumber(conversions) },
          { title: 'Why', kind: 'text', cell: ({ advice }) => advice },
        ]}
      />
    </Panel>
  );
}
