import type { Command } from 'commander';
import { type Bound, lastBefore } from '../history/bound.js';
import { UserError } from '../kernel/errors.js';
import { readSyncLog, type SyncLine } from '../outbound/sync-log.js';
import { FROM_HELP, readBound, TO_HELP } from './bound-argument.js';
import { printable } from './output.js';
import { PLATFORM_HELP, readConnectionName } from './platform-argument.js';
import type { Session } from './session.js';
import { commandGroup, subcommand } from './subcommand.js';

interface LogOptions {
  readonly site: string;
  readonly platform?: string;
  readonly status?: string;
  readonly from?: Bound;
  readonly to?: Bound;
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
    .option(
      '--status <status>',
      'only attempts with this status: delivered, accepted, deferred, failed, skipped, rejected …',
    )
    .option('--from <when>', FROM_HELP, readBound)
    .option('--to <when>', TO_HELP, readBound)
    .action(async ({ site, platform, status, from, to, json }: LogOptions) => {
      if (platform !== undefined) readConnectionName(platform);
      const { log, sites } = await session.open();
      const { host } = await sites.get(site);
      const head = await log.head();
      const after = from ? await lastBefore(log, from) : 0;
      const until = to ? Math.min(head, await lastBefore(log, to)) : head;
      let count = 0;
      for await (const lines of readSyncLog(log, { site: host, after, until, platform, status })) {
        if (session.stop.aborted)
          throw new UserError('Interrupted: the sync log is incomplete. Run the command again.');
        count += lines.length;
        if (lines.length > 0) await output.print(lines.map(json ? jsonLine : textLine).join(''));
        output.progress(`${count} attempts`);
      }
      output.endProgress();
      if (count === 0 && !json) output.note('No attempt matches.');
    });
}

function jsonLine(line: SyncLine): string {
  return `${JSON.stringify(line)}\n`;
}

function textLine(line: SyncLine): string {
  if (line.kind === 'inbound') return inboundLine(line);
  const { time, kind, platform, conversionId, window, payload, attempt, status, httpStatus, reason } = line;
  const target = platform ?? `${payload?.conversions} + ${payload?.bot_traffic_removed}`;
  const details = [httpStatus, `${line.durationMs} ms`, reason, line.nextTry && `next attempt ${line.nextTry}`];
  const cells = [
    time,
    kind.padEnd(8),
    target.padEnd(13),
    conversionId ?? window?.stretchId,
    `attempt ${attempt}`.padEnd(10),
    status.padEnd(9),
    details.filter((part) => part !== undefined).join(', '),
  ];
  return `${printable(cells.join('  '))}\n`;
}

function inboundLine({ time, kind, status, since, reasons = {}, sample = [] }: SyncLine): string {
  const counts = Object.entries(reasons).map(([reason, count]) => `${count} ${reason}`);
  const senders = new Set(sample.map(({ by }) => by));
  const cells = [time, kind.padEnd(8), status, counts.join(', '), `since ${since}`, `by ${[...senders].join(', ')}`];
  return `${printable(cells.join('  '))}\n`;
}
