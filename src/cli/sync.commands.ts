import { type Command, Option } from 'commander';
import { type Bound, positionRangeOf } from '../history/bound.js';
import { SYNC_STATUSES } from '../kernel/sync-statuses.js';
import { readNewestSyncLines, readSyncLog, type SyncLine } from '../outbound/sync-log.js';
import { FROM_HELP, readBound, TO_HELP } from './arguments/bound-argument.js';
import { readCount } from './arguments/count-argument.js';
import { PLATFORM_HELP, readConnectionName } from './arguments/platform-argument.js';
import type { Layout } from './output/layout.js';
import { printable, wrapped } from './output/table.js';
import type { Session } from './session.js';
import { commandGroup, subcommand } from './subcommand.js';

interface LogOptions {
  readonly site: string;
  readonly platform?: string;
  readonly status?: string;
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
    .addOption(new Option('--status <status>', 'only attempts with this status').choices(SYNC_STATUSES))
    .option('--from <when>', FROM_HELP, readBound)
    .option('--to <when>', TO_HELP, readBound)
    .option('--last <n>', 'only the newest so many, newest first', readCount)
    .action(async ({ site, platform, status, from, to, last, json }: LogOptions) => {
      if (platform !== undefined) readConnectionName(platform);
      const { log, ...dependencies } = await session.openSite(site);
      const { host } = dependencies.site;
      const range = await positionRangeOf(log, { from, to }, { host });
      const written = json ? jsonLine : (line: SyncLine) => textLine(line, output.layout);
      const filter = { site: host, ...range, platform, status };
      if (last !== undefined) {
        const lines = await readNewestSyncLines(log, filter, last);
        await output.print(lines.map(written).join(''));
        if (lines.length === 0 && !json) output.note('No attempt matches.');
        return;
      }
      let count = 0;
      for await (const lines of readSyncLog(log, filter)) {
        session.throwIfStopped('Interrupted: the sync log is incomplete. Run the command again.');
        count += lines.length;
        if (lines.length > 0) await output.print(lines.map(written).join(''));
        output.progress(`${count} attempts`);
      }
      output.endProgress();
      if (count === 0 && !json) output.note('No attempt matches.');
    });
}

function jsonLine(line: SyncLine): string {
  return `${JSON.stringify(line)}\n`;
}

/** Later lines of an attempt are indented, so that each attempt is found by its time. */
const CONTINUATION = 4;

function textLine(line: SyncLine, layout: Layout): string {
  const cells = line.kind === 'inbound' ? inboundCells(line) : attemptCells(line);
  return `${wrapped(printable(cells.join('  ')), layout, CONTINUATION, 0)}\n`;
}

function attemptCells(line: SyncLine): (string | undefined)[] {
  const { time, kind, platform, conversionId, window, payload, attempt, status, httpStatus, reason } = line;
  const target = platform ?? `${payload?.conversions} + ${payload?.bot_traffic_removed}`;
  const details = [httpStatus, `${line.durationMs} ms`, reason, line.nextTry && `next attempt ${line.nextTry}`];
  return [
    time,
    kind.padEnd(8),
    target.padEnd(13),
    conversionId ?? window?.stretchId,
    `attempt ${attempt}`.padEnd(10),
    status.padEnd(9),
    details.filter((part) => part !== undefined).join(', '),
  ];
}

function inboundCells({ time, kind, status, since, reasons = {}, sample = [] }: SyncLine): string[] {
  const counts = Object.entries(reasons).map(([reason, count]) => `${count} ${reason}`);
  const senders = new Set(sample.map(({ by }) => by));
  return [time, kind.padEnd(8), status, counts.join(', '), `since ${since}`, `by ${[...senders].join(', ')}`];
}
