import { useEffect, useState } from 'preact/hooks';
import { api, type Schemas } from '../api.js';
import { counted } from '../format.js';
import { type Problem, problemOf } from '../problem.js';
import { resultsText, type SentDelivery, sendResults } from '../views/send-results-view.js';
import { ProblemNote } from './frame.js';

type SyncLine = Schemas['SyncLine'];

const EVERY_MS = 1_500;
/** The most that a request may have. */
const LIMIT = 500;

/** What was sent again, and the position of the log before that. */
export interface Sent {
  readonly deliveries: readonly SentDelivery[];
  readonly after: number;
}

interface SendResultsProps {
  site: string;
  sent: Sent;
  /** The only conversion, if it is one. */
  conversion?: string;
}

/** What came back so far. The sync log is read until each delivery has an answer. */
export function SendResults({ site, sent, conversion }: SendResultsProps) {
  const [lines, setLines] = useState<readonly SyncLine[]>([]);
  const [problem, setProblem] = useState<Problem>();
  const results = sendResults(sent.deliveries, lines);
  const isDone = results.open === 0;
  useEffect(() => {
    if (isDone) return;
    const controller = new AbortController();
    let from = sent.after + 1;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async () => {
      try {
        const found = await readLines(site, { from, conversion }, controller.signal);
        from = Math.max(from, ...found.map(({ position }) => position + 1));
        setProblem(undefined);
        if (found.length > 0) setLines((before) => [...before, ...found]);
      } catch (error) {
        if (!controller.signal.aborted) setProblem(problemOf(error));
      }
      if (!controller.signal.aborted) timer = setTimeout(read, EVERY_MS);
    };
    void read();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [site, sent, conversion, isDone]);
  return (
    <>
      <p role="status">{resultsText(results)}.</p>
      {results.reasons.length > 0 && (
        <ul class="results">
          {results.reasons.map(({ key, words, why, count }) => (
            <li key={key}>
              {counted(count, 'delivery', 'deliveries')} {words}: <code>{why}</code>
            </li>
          ))}
        </ul>
      )}
      <ProblemNote problem={problem} />
    </>
  );
}

/** The attempts from a position on. */
async function readLines(
  site: string,
  { from, conversion }: { readonly from: number; readonly conversion: string | undefined },
  signal: AbortSignal,
): Promise<SyncLine[]> {
  const lines: SyncLine[] = [];
  let cursor: number | undefined;
  do {
    const query = { kind: 'delivery' as const, from: String(from), limit: LIMIT, conversion, cursor };
    const page = await api.GET('/api/v1/sites/{site}/sync-log', { path: { site }, query, signal });
    lines.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return lines;
}
