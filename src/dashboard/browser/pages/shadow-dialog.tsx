import { Dialog } from '../components/forms/dialog.js';
import { Empty } from '../components/frame.js';
import { Table } from '../components/table.js';
import { counted } from '../format.js';
import type { Job } from '../views/job-view.js';
import { differenceRows, isShadowResult } from '../views/shadow-view.js';

/** The difference between what happened and what other rules would have done. */
export function ShadowDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  if (!isShadowResult(job.result)) return null;
  const { undecided } = job.result;
  return (
    <Dialog title="Difference of the shadow replay" closeLabel="Close" onClose={onClose}>
      <Table
        label="Differences"
        rows={differenceRows(job.result)}
        rowKey={({ of, was, would }) => `${of} ${was} ${would}`}
        empty={<Empty title="No difference">Every conversion and delivery would have ended as it did.</Empty>}
        columns={[
          { title: 'Of', cell: ({ of }) => <strong>{of}</strong> },
          { title: 'Was', kind: 'text', cell: ({ was }) => was },
          { title: 'Would be', kind: 'text', cell: ({ would }) => would },
          { title: 'Number', kind: 'number', cell: ({ count }) => count },
        ]}
      />
      {undecided > 0 && <p class="dim">{counted(undecided, 'conversion')} of erased people cannot be decided again.</p>}
    </Dialog>
  );
}
