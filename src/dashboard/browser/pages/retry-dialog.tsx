import { useEffect, useRef, useState } from 'preact/hooks';
import { outcomeWord } from '../../../kernel/outcome-words.js';
import { api, clock, type Schemas } from '../api.js';
import { Button, CopyJson } from '../components/basics.js';
import { Dialog } from '../components/forms/dialog.js';
import { ProblemNote, Show } from '../components/frame.js';
import { SendResults, type Sent } from '../components/send-results.js';
import { Table } from '../components/table.js';
import { toast } from '../components/toasts.js';
import { connectionTitle, counted, formatNumber } from '../format.js';
import { useAction, useData } from '../hooks/use-data.js';
import type { SyncLogFilters } from '../sync-log-filters.js';
import { withTimes } from '../time-filter.js';
import {
  PREVIEW_MINUTES,
  previewedOf,
  type RetryEnd,
  type RetrySelection,
  type RetryStatus,
  type RetryStop,
  type RetrySummary,
  retriedText,
  retryEnd,
  runRetry,
  SENDING_MINUTES,
  summarize,
} from '../views/retry-view.js';

interface RetryDialogProps {
  site: string;
  filters: SyncLogFilters;
  statuses: readonly RetryStatus[];
  selections: readonly RetrySelection[];
  onSent(): void;
  onClose(): void;
}

interface Preview extends RetrySummary {
  /** Undefined if it looked at everything. */
  readonly stop: RetryStop | undefined;
}

type Answer = Schemas['RetriedDeliveries'];

/** What would be sent again, by a dry run of the same selection, and then sending it. Closing it stops the sending. What comes back is shown until it is closed. */
export function RetryDialog({ site, filters, statuses, selections, onSent, onClose }: RetryDialogProps) {
  // What arrives after the preview is not sent with it.
  const [openedMs] = useState(() => clock.exactMs());
  const [sent, setSent] = useState(0);
  const [end, setEnd] = useState<RetryEnd>('stopped');
  const [results, setResults] = useState<Sent>();
  const [isDone, setDone] = useState(false);
  const action = useAction();
  const { current: closing } = useRef(new AbortController());
  useEffect(() => () => closing.abort(), []);
  const retry = (dryRun: boolean, selected: readonly RetrySelection[], onAnswer: (answer: Answer) => void) => {
    const { from, to = new Date(openedMs).toISOString() } = withTimes(filters, openedMs);
    const common = { status: [...statuses], to, limit: 500, force: false, dryRun, ...(from !== undefined && { from }) };
    const request = (selection: RetrySelection, cursor: string | undefined) =>
      api.POST('/api/v1/sites/{site}/deliveries/retry', {
        path: { site },
        body: { ...common, ...selection, ...(cursor !== undefined && { cursor }) },
      });
    const timeout = AbortSignal.timeout((dryRun ? PREVIEW_MINUTES : SENDING_MINUTES) * 60_000);
    return runRetry(selected, request, onAnswer, AbortSignal.any([closing.signal, timeout]));
  };
  const preview = useData<Preview>(`retry ${openedMs}`, async () => {
    const answers: Answer[] = [];
    const stop = await retry(true, selections, (answer) => answers.push(answer));
    return { ...summarize(answers, statuses), stop };
  });
  const count = preview.data?.requested ?? 0;
  const send = async () => {
    let sum = 0;
    setSent(sum);
    // Until it is known, and if a request fails.
    setEnd('stopped');
    const add = ({ requested, deliveries, after }: Answer) => {
      sum += requested;
      setSent(sum);
      setResults((before) => ({
        deliveries: [...(before?.deliveries ?? []), ...deliveries],
        after: before?.after ?? after,
      }));
    };
    const previewed = previewedOf(selections, preview.data?.stop);
    const stop = await retry(false, previewed, add).finally(() => sum > 0 && onSent());
    const reached = retryEnd(stop, closing.signal.aborted);
    setEnd(reached);
    toast(retriedText(sum, count, reached));
    if (reached === 'limited') preview.reload();
    else if (sum > 0) setDone(true);
    else if (!closing.signal.aborted) onClose();
  };
  return (
    <Dialog title="Send again" onClose={onClose}>
      {!isDone && <Show of={preview}>{(summary) => <Summary summary={summary} statuses={statuses} />}</Show>}
      <ProblemNote problem={action.problem} />
      {sent > 0 && !isDone && <p role="status">{retriedText(sent, count, action.isBusy ? 'complete' : end)}.</p>}
      {results && results.deliveries.length > 0 && <SendResults site={site} sent={results} />}
      <div class="buttons">
        <Button
          label={action.isBusy ? 'Stop' : isDone || (preview.data && count === 0) ? 'Close' : 'Cancel'}
          onClick={onClose}
        />
        {count > 0 && !isDone && (
          <Button
            kind="primary"
            label={action.isBusy ? 'Sending …' : `Send ${formatNumber(count)} again`}
            isDisabled={action.isBusy}
            onClick={() => action.run(send)}
          />
        )}
      </div>
    </Dialog>
  );
}

const MORE = ` The search stopped after ${PREVIEW_MINUTES} minute, and not all attempts were looked at: choose a shorter time for the others.`;

function Summary({ summary, statuses }: { summary: Preview; statuses: readonly RetryStatus[] }) {
  const { requested, connections, preview, stop } = summary;
  if (requested === 0)
    return (
      <p>
        Nothing is to be sent again: of what {stop ? 'was looked at' : 'matches'}, no delivery is{' '}
        {statuses.map((status) => outcomeWord(status)).join(' or ')} now.{stop && MORE}
      </p>
    );
  return (
    <>
      <p>
        {counted(requested, 'delivery', 'deliveries')} would be sent now. What a platform has accepted is not sent
        again.
        {stop && MORE}
      </p>
      <Table
        label="What would be sent"
        rows={connections}
        rowKey={({ connection }) => connection}
        columns={[
          { title: 'Platform', cell: ({ connection }) => connectionTitle(connection) },
          { title: 'Would be sent', kind: 'number', cell: (row) => row.requested },
          {
            title: 'Not sent',
            kind: 'text',
            cell: ({ notSent }) => (
              <span class="dim">
                {notSent.map(([status, number]) => `${formatNumber(number)} ${outcomeWord(status)}`).join(', ')}
              </span>
            ),
          },
        ]}
      />
      {preview?.payload !== undefined && <CopyJson label="Payload" value={preview.payload} />}
      {preview?.reason !== undefined && <p class="dim">{preview.reason}</p>}
    </>
  );
}
