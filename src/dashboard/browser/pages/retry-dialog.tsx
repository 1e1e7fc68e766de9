import { useState } from 'preact/hooks';
import { api, dataOf, type Schemas } from '../api.js';
import { CopyText } from '../components/copy.js';
import { Dialog } from '../components/dialog.js';
import { ProblemNote, Show } from '../components/states.js';
import { Table } from '../components/table.js';
import { toast } from '../components/toasts.js';
import { connectionTitle, counted, formatNumber } from '../format.js';
import { type RetryStatus, type RetrySummary, retrySelections, summarize } from '../retry-view.js';
import { queryOf, type SyncLogFilters } from '../sync-log-filters.js';
import { useAction, useData } from '../use-data.js';

/** Requests of one retry, of up to 500 attempts each. */
const REQUESTS_MAX = 40;

interface RetryDialogProps {
  site: string;
  filters: SyncLogFilters;
  statuses: readonly RetryStatus[];
  connected: readonly string[];
  onSent(): void;
  onClose(): void;
}

interface Retried extends RetrySummary {
  readonly isComplete: boolean;
}

/** What would be sent again, by a dry run of the same selection, and then sending it. */
export function RetryDialog({ site, filters, statuses, connected, onSent, onClose }: RetryDialogProps) {
  // What arrives after the preview is not sent with it.
  const [openedMs] = useState(Date.now);
  const action = useAction();
  const retry = async (dryRun: boolean): Promise<Retried> => {
    const { from, to = new Date(openedMs).toISOString() } = queryOf(filters, openedMs);
    const answers: Schemas['RetriedDeliveries'][] = [];
    for (const selection of retrySelections(filters, connected)) {
      let cursor: string | undefined;
      do {
        const body = { ...selection, status: [...statuses], to, limit: 500, force: false, dryRun };
        const range = { ...(from !== undefined && { from }), ...(cursor !== undefined && { cursor }) };
        const answer = await dataOf(
          api.POST('/api/v1/sites/{site}/deliveries/retry', {
            params: { path: { site } },
            body: { ...body, ...range },
          }),
        );
        answers.push(answer);
        cursor = answer.next;
      } while (cursor !== undefined && answers.length < REQUESTS_MAX);
      if (answers.length >= REQUESTS_MAX) return { ...summarize(answers, statuses), isComplete: false };
    }
    return { ...summarize(answers, statuses), isComplete: true };
  };
  const preview = useData(`retry ${openedMs}`, () => retry(true));
  const send = async () => {
    const isSent = await action.run(async () => {
      const { requested } = await retry(false);
      toast(`${counted(requested, 'delivery is', 'deliveries are')} sent again`);
    });
    if (!isSent) return;
    onSent();
    onClose();
  };
  const count = preview.data?.requested ?? 0;
  return (
    <Dialog title="Send again" onClose={onClose}>
      <Show of={preview}>{(summary) => <Preview summary={summary} statuses={statuses} />}</Show>
      <ProblemNote problem={action.problem} />
      <div class="buttons">
        <button type="button" onClick={onClose}>
          {preview.data && count === 0 ? 'Close' : 'Cancel'}
        </button>
        {count > 0 && (
          <button type="button" class="primary" disabled={action.isBusy} onClick={() => void send()}>
            {action.isBusy ? 'Sending …' : `Send ${formatNumber(count)} again`}
          </button>
        )}
      </div>
    </Dialog>
  );
}

function Preview({ summary, statuses }: { summary: Retried; statuses: readonly RetryStatus[] }) {
  const { requested, connections, preview, isComplete } = summary;
  if (requested === 0)
    return <p>Nothing is to be sent again: of what matches, no delivery is {statuses.join(' or ')} now.</p>;
  return (
    <>
      <p>
        {counted(requested, 'delivery', 'deliveries')} would be sent now. What a platform has accepted is not sent
        again.
        {!isComplete && ' There may be more: repeat this afterwards.'}
      </p>
      <Table
        label="What would be sent"
        rows={connections}
        rowKey={({ connection }) => connection}
        columns={[
          { title: 'Platform', cell: ({ connection }) => connectionTitle(connection) },
          { title: 'Would be sent', isNumber: true, cell: (row) => formatNumber(row.requested) },
          {
            title: 'Not sent',
            isText: true,
            cell: ({ notSent }) => (
              <span class="dim">
                {notSent.map(([status, number]) => `${formatNumber(number)} ${status}`).join(', ')}
              </span>
            ),
          },
        ]}
      />
      {preview?.payload !== undefined && <CopyText label="Payload" text={JSON.stringify(preview.payload, null, 2)} />}
      {preview?.reason !== undefined && <p class="dim">{preview.reason}</p>}
    </>
  );
}
