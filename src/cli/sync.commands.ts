import { type Command, Option } from 'commander';
import { findOrder } from '../conversions/find-order.js';
import { type Bound, positionRangeOf } from '../history/bound.js';
import { type ConversionOfLine, withConversions } from '../history/with-conversions.js';
import { counted } from '../kernel/counted.js';
import { UserError } from '../kernel/errors.js';
import { outcomeWord } from '../kernel/outcome-words.js';
import { SYNC_STATUSES } from '../kernel/sync-statuses.js';
import type { EventLog } from '../log/event-log.js';
import { QUEUED_MAX, readNewestSyncLines, readQueuedLines, readSyncLog, type SyncLine } from '../outbound/sync-log.js';
import type { Site } from '../sites/site.js';
import { FROM_HELP, readBound, TO_HELP } from './arguments/bound-argument.js';
import { readCount } from './arguments/count-argument.js';
import { connectionArgument, PLATFORM_HELP } from './arguments/platform-argument.js';
import type { Layout } from './output/layout.js';
import { printable, wrapped } from './output/table.js';
import type { Session } from './session.js';
import { commandGroup, subcommand } from './subcommand.js';

type OrderLine = SyncLine & ConversionOfLine;

/** Not a status of an attempt: what waits for one now. */
const QUEUED = 'queued';

interface LogOptions {
  readonly site: string;
  readonly platform?: string;
  readonly status?: string;
  readonly order?: string;
  readonly from?: Bound;
  readonly to?: Bound;
  readonly last?: number;
  readonly json?: true;
}

export function addSync(program: Command, session: Session): void {
  const { output } = session;
  const sync = commandGroup(program, 'sync', 'Show what was sent for a site');

  subcommand(
    sync,
    'log',
    'List all attempts to deliver conversions and to push totals, and refused conversions, oldest first',
    'sync log --site shop.example --from 2025-03-01 --status failed',
  )
    .requiredOption('--site <host>', 'site of the attempts')
    .option('--platform <platform>', `only deliveries ${PLATFORM_HELP}`)
    .addOption(
      new Option(
        '--status <status>',
        'only attempts with this status; queued: deliveries that wait for one now',
      ).choices([...SYNC_STATUSES, QUEUED]),
    )
    .option('--order <id>', 'only deliveries of conversions with this order id')
    .option('--from <when>', FROM_HELP, readBound)
    .option('--to <when>', TO_HELP, readBound)
    .option('--last <n>', 'only the newest so many, newest first', readCount)
    .action(async ({ site, platform, status, order, from, to, last, json }: LogOptions) => {
      const { log, postgres, secrets, ...dependencies } = await session.openSite(site);
      const { host } = dependencies.site;
      if (platform !== undefined) connectionArgument(dependencies.site, platform);
      const range = await positionRangeOf(log, { from, to }, { host });
      const conversions =
        order === undefined
          ? undefined
          : await conversionsOf(log, dependencies.site, await secrets.dedupSecret(host), order);
      const filter = { site: host, ...range, platform, status, conversions };
      let count = 0;
      const print = async (lines: readonly SyncLine[]) => {
        count += lines.length;
        const written = json ? jsonLine : (line: OrderLine) => textLine(line, output.layout);
        if (lines.length > 0) await output.print((await withConversions(log, lines)).map(written).join(''));
      };
      if (status === QUEUED) {
        const lines = await readQueuedLines(postgres, filter);
        await print(lines.slice(0, last));
        if (lines.length === QUEUED_MAX)
          output.note(`These are the first ${QUEUED_MAX}; "doctor" counts all that wait.`);
      } else if (last !== undefined) await print(await readNewestSyncLines(log, filter, last));
      else
        for await (const lines of readSyncLog(log, filter)) {
          session.throwIfStopped('Interrupted: the sync log is incomplete. Run the command again.');
          await print(lines);
          output.progress(counted(count, 'attempt'));
        }
      output.endProgress();
      if (count === 0 && !json) output.note(status === QUEUED ? 'No delivery waits.' : 'No attempt matches.');
    });
}

async function conversionsOf(log: EventLog, site: Site, siteSecret: string, order: string): Promise<string[]> {
  const openings = await findOrder(log, site, siteSecret, order);
  if (openings.length === 0) throw new UserError(`${site.host} has no conversion with order ${order}.`);
  return openings.map(({ data }) => data.conversionId);
}

function jsonLine(line: OrderLine): string {
  return `${JSON.stringify(line)}\n`;
}

/** Later lines of an attempt are indented, so that each attempt is found by its time. */
const CONTINUATION = 4;

function textLine(line: OrderLine, layout: Layout): string {
  const cells = line.kind === 'inbound' ? inboundCells(line) : attemptCells(line);
  return `${wrapped(printable(cells.join('  ')), layout, CONTINUATION, 0)}\n`;
}

function attemptCells(line: OrderLine): (string | undefined)[] {
  const { time, kind, platform, conversionId, orderId, window, payload, attempt, status, httpStatus, reason } = line;
  const target = platform ?? `${payload?.conversions} + ${payload?.bot_traffic_removed}`;
  // Nothing is sent again once a platform has accepted it.
  const next = status === 'accepted' ? 'confirmation' : 'next attempt';
  const details = [
    orderId && `order ${orderId}`,
    httpStatus,
    status === QUEUED ? undefined : `${line.durationMs} ms`,
    reason,
    line.nextTry && `${next} ${line.nextTry}`,
  ];
  return [
    time,
    kind.padEnd(8),
    target.padEnd(13),
    conversionId ?? window?.stretchId,
    `attempt ${attempt}`.padEnd(10),
    outcomeWord(status, reason).padEnd(9),
    details.filter(Boolean).join(', '),
  ];
}

function inboundCells({ time, kind, status, since, reasons = {}, sample = [] }: SyncLine): string[] {
  const counts = Object.entries(reasons).map(([reason, count]) => `${count} ${reason}`);
  const senders = new Set(sample.map(({ by }) => by));
  return [
    time,
    kind.padEnd(8),
    outcomeWord(status),
    counts.join(', '),
    `since ${since}`,
    `by ${[...senders].join(', ')}`,
  ];
}
