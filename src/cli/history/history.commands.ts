import { type Command, Option } from 'commander';
import { allChecks, allEventChecks, allStreamChecks } from '../../history/checks.js';
import { type VerifyReport, verify } from '../../history/verify.js';
import { UserError } from '../../kernel/errors.js';
import { leapLineage } from '../../log/lineage.js';
import { withReaderHold } from '../../log/retention/retention-holds.js';
import { readArrivedSites } from '../../log/site-copy/arrived-sites.js';
import { confirm, YES_HELP } from '../confirmation.js';
import { checkMark, type Layout, MARK_WIDTH } from '../output/layout.js';
import { printable, wrapped } from '../output/table.js';
import type { Session } from '../session.js';
import { commandGroup, subcommand } from '../subcommand.js';
import { addCheckpoint, addSeals, readTrust } from './history-checkpoint.js';
import { addRejudge } from './history-rejudge.js';
import { addShadow } from './shadow.command.js';

interface VerifyCommandOptions {
  readonly against?: string;
  readonly publicKey?: string;
  readonly topics?: 'full';
  readonly json?: true;
}

export function addHistory(program: Command, session: Session): void {
  const { output } = session;
  const history = commandGroup(program, 'history', 'Verify the log, and evaluate other rules on it');

  subcommand(
    history,
    'verify',
    'Verify that the log was not changed, and compare all stored results with what it implies',
    'history verify --against checkpoint.txt --public-key checkpoint.txt',
  )
    .option('--against <file|topic>', 'compare the log with the checkpoints in this file or on this topic')
    .option('--public-key <file>', 'trust the public key in this file, not the one in the database')
    .addOption(new Option('--topics <how>', 'compare every record of the topics with the log').choices(['full']))
    .action(async ({ json, topics, ...options }: VerifyCommandOptions) => {
      const { postgres, log, sites, secrets, projections, settings } = await session.open();
      const progress = (line: string) => {
        session.throwIfStopped('Interrupted before all checks were done. Run "history verify" again.');
        output.progress(line);
      };
      const trust = await readTrust(settings, options);
      const verdict = await withReaderHold(postgres, 'history verify', 0, async ({ removedUntil }) => {
        const until = await log.head();
        const opened = { postgres, log, sites, secrets, projections, settings };
        const dependencies = { ...opened, until, removedUntil, trust, progress };
        const checks = allChecks(projections, { records: topics === 'full' });
        return verify(
          dependencies,
          allEventChecks(),
          allStreamChecks(
            removedUntil > 0,
            postgres.clock.nowMs(),
            await sites.all(),
            await readArrivedSites(postgres.pool),
          ),
          checks,
        );
      });
      output.endProgress();
      if (session.stop.aborted) progress('');
      await output.show(json, verdict, (layout) => verdictText(verdict, layout));
      if (!verdict.ok) session.exitCode = 1;
    });

  subcommand(
    history,
    'leap',
    'Continue at far higher positions, after a copy of the data folder was put back. Other restores are noticed.',
    'history leap',
  )
    .option('--yes', YES_HELP)
    .action(async ({ json, yes }: { readonly json?: true; readonly yes?: true }) => {
      const { postgres } = await session.open();
      const question = 'Continue this log at far higher positions, as after a restore?';
      await confirm(session, { yes, json }, question, 'go on');
      const owner = await postgres.connectAsOwner('leap');
      const continuesAt = await leapLineage(owner).finally(() => owner.end());
      if (continuesAt === undefined)
        throw new UserError('The log has no events, so no position of it can be used again. There is nothing to do.');
      await output.show(json, { continuesAt }, () => `The next event gets position ${continuesAt}.\n`);
    });

  addCheckpoint(history, session);
  addSeals(history, session);

  addShadow(history, session);
  addRejudge(history, session);
}

function verdictText({ ok, checks }: VerifyReport, layout: Layout): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.map((check) => {
    const detail = wrapped(printable(check.detail), layout, MARK_WIDTH + width + 2);
    return `${checkMark(layout, check.ok)}  ${check.name.padEnd(width)}  ${detail}\n`;
  });
  return `${lines.join('')}${ok ? 'All checks passed.' : 'Some checks failed. See the lines marked FAIL.'}\n`;
}
