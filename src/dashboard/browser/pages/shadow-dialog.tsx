import { Dialog } from '../components/forms/dialog.js';
import { Empty } from '../components/states.js';
import { Table } from '../components/table.js';
import { counted, formatNumber } from '../format.js';
import type { Job } from '../views/job-view.js';
import { differenceRows, isShadowResult } from '../views/shadow-view.js';

/** The difference between what happened and what other rules would have done. */
export function ShadowDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  if (!isShadowResult(job.result)) return null;
  const { undecided } = job.result;
  const rows = differenceRows(job.result);
  return (
    <Dialog title="Difference of the shadow replay" onClose={onClose}>
      {rows.length === 0 ? (
        <Empty title="No difference">Every conversion and delivery would have ended as it did.</Empty>
      ) : (
        <Table
          label="Differences"
          rows={rows}
          rowKey={({ of, was, would }) => `${of} ${was} ${would}`}
          columns={[
            { title: 'Of', cell: ({ of }) => <strong>{of}</strong> },
            { title: 'Was', isText: true, cell: ({ was }) => was },
            { title: 'Would be', isText: true, cell: ({ would }) => would },
            { title: 'Number', isNumber: true, cell: ({ count }) => formatNumber(count) },
          ]}
        />
      )}
      {undecided > 0 && <p class="dim">{counted(undecided, 'conversion')} of erased people cannot be decided again.</p>}
      <div class="buttons">
        <button type="button" class="primary" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
