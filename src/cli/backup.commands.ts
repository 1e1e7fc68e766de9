import type { Command } from 'commander';
import { type BackupSummary, createBackup } from '../backup/create-backup.js';
import { type RestoreSummary, restoreBackup } from '../backup/restore-backup.js';
import { readUnderWay, type UnderWay } from '../backup/under-way.js';
import { CLI_ACTOR } from './cli-actor.js';
import type { Layout } from './output/layout.js';
import { progressBar } from './output/output.js';
import { table } from './output/table.js';
import type { Session } from './session.js';
import { subcommand } from './subcommand.js';

const SHOW_EVERY_MS = 200;

export function addBackup(program: Command, session: Session): void {
  const { output, stop } = session;

  subcommand(
    program,
    'backup',
    'Copy the whole database to a file, as of one moment, also while the service runs',
    'backup --out clean-conversions.backup',
  )
    .requiredOption('--out <file>', 'file to write; it appears when it is complete')
    .action(async ({ out, json }: { readonly out: string; readonly json?: true }) => {
      const { postgres, sealer } = await session.open();
      const progress = showProgress(session);
      const summary = await createBackup(postgres, sealer, out, { signal: stop, progress }).catch((error: unknown) => {
        session.throwIfStopped('Interrupted: no backup was made.');
        throw error;
      });
      await output.show(json, summary, () => backupText(summary));
    });

  subcommand(
    program,
    'restore <file>',
    'Fill an empty database from a backup, with the service stopped. Every site is paused until "sites resume".',
    'restore clean-conversions.backup',
  ).action(async (file: string, { json }: { readonly json?: true }) => {
    const { postgres, sealer, log, projections } = await session.openWithAnyKey();
    const show = showProgress(session);
    const progress = (done: number, table: string) => {
      session.throwIfStopped('Interrupted: nothing was restored.');
      show(done, table);
    };
    const summary = await restoreBackup(postgres, sealer, { file, actor: CLI_ACTOR, progress });
    const underWay = await readUnderWay({ postgres, log, projections });
    await output.show(json, { file, ...summary, underWay }, (layout) => restoreText(summary, underWay, layout));
  });
}

function showProgress({ output }: Session): (done: number, table: string) => void {
  let shownMs = Number.NEGATIVE_INFINITY;
  return (done, table) => {
    const nowMs = performance.now();
    if (nowMs - shownMs < SHOW_EVERY_MS) return;
    shownMs = nowMs;
    output.progress(`${progressBar(Math.min(1, done))}  ${table}`);
  };
}

function backupText({ file, bytes, events, time }: BackupSummary): string {
  const size = `${(bytes / 1e6).toLocaleString('en-US', { maximumFractionDigits: 1 })} MB`;
  return (
    `${file}: ${size}, ${events.toLocaleString('en-US')} events, as of ${time}.\n` +
    'SECRET_KEY (or the file secret-key in DATA_DIR) and the list of erasures are not in it: store them elsewhere.\n'
  );
}

function restoreText({ time, paused }: RestoreSummary, underWay: readonly UnderWay[], layout: Layout): string {
  const columns = {
    SITE: ({ site }: UnderWay) => site,
    PLATFORM: ({ platform }: UnderWay) => platform,
    DELIVERIES: ({ deliveries }: UnderWay) => deliveries,
  };
  const listed =
    underWay.length === 0
      ? 'No delivery was under way.\n'
      : `Deliveries that were under way. They may have been made since:\n\n${table(underWay, columns, layout)}`;
  const resumed = paused.map((host) => `  sites resume ${host}\n`).join('');
  return (
    `Restored as of ${time}.\n${listed}\nRun "visitors erase --rerun" now.` +
    `${paused.length === 0 ? '' : ` Then resume the sites, which sends what waits:\n\n${resumed}`}\n`
  );
}
