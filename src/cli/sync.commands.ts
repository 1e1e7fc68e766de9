import type { Command } from 'commander';
import { type Bound, lastBefore } from '../history/bound.js';
import { UserError } from '../kernel/errors.js';
import { readSyncLog, type SyncLine } from '../outbound/sync-log.js';
import { readBound } from './bound-argument.js';
import { printable } from './output.js';
import { readPlatform } from './platform-argument.js';
import type { Session } from './session.js';
import { commandGroup, verb } from './verb.js';

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
  const sync = commandGroup(program, 'sync', 'What has been sent for a site');

  verb(
    sync,
    'log',
    'Every try to deliver a conversion and to push totals, oldest first',
    'sync log --site shop.example --from 2025-03-01 --status failed',
  )
    .requiredOption('--site <host>', 'whose')
    .option('--platform <platform>', 'only deliveries to this platform')
    .option('--status <status>', 'only tries that ended so: delivered, accepted, deferred, failed, skipped …')
    .option('--from <when>', 'from this position or time (UTC unless it says otherwise) on', readBound)
    .option('--to <when>', 'up to, and without, this position or time', readBound)
    .action(async ({ site, platform, status, from, to, json }: LogOptions) => {
      if (platform !== undefined) readPlatform(platform);
      const { log, sites } = await session.open();
      const { host } = await sites.get(site);
      const head = await log.head();
      const after = from ? await lastBefore(log, from) : 0;
      const until = to ? Math.min(head, await lastBefore(log, to)) : head;
      let count = 0;
      for await (const lines of readSyncLog(log, { site: host, after, until, platform, status })) {
        if (session.stop.aborted) throw new UserError('Interrupted: the sync log is not complete.');
        count += lines.length;
        if (lines.length > 0) await output.print(lines.map(json ? jsonLine : textLine).join(''));
        output.progress(`${count} tries`);
      }
      output.endProgress();
      if (count === 0 && !json) output.note('There is no such try.');
    });
}

function jsonLine(line: SyncLine): string {
  return `${JSON.stringify(line)}\n`;
}

function textLine(line: SyncLine): string {
  const { time, kind, platform, conversionId, stretch, payload, attempt, status, httpStatus, reason } = line;
  const what = platform ?? `${payload?.conversions} + ${payload?.bot_traffic_removed}`;
  const said = [httpStatus, `${line.durationMs} ms`, reason, line.nextTry && `again ${line.nextTry}`];
  const cells = [
    time,
    kind.padEnd(8),
    what.padEnd(13),
    conversionId ?? stretch?.stretchId,
    `try ${attempt}`.padEnd(6),
    status.padEnd(9),
    said.filter((part) => part !== undefined).join(', '),
  ];
  return `${printable(cells.join('  '))}\n`;
}
