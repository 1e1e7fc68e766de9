import type { Command } from 'commander';
import { allChecks, allStreamChecks } from '../history/checks.js';
import { type VerifyReport, verify } from '../history/verify.js';
import { UserError } from '../kernel/errors.js';
import { withReaderHold } from '../log/retention-holds.js';
import { addRejudge } from './history-rejudge.js';
import { printable } from './output.js';
import type { Session } from './session.js';
import { addShadow } from './shadow.command.js';
import { commandGroup, subcommand } from './subcommand.js';

export function addHistory(program: Command, session: Session): void {
  const { output } = session;
  const history = commandGroup(program, 'history', 'Verify the log, and evaluate other rules on it');

  subcommand(history, 'verify', 'Compare all stored results with what the log implies', 'history verify').action(
    async ({ json }: { json?: true }) => {
      const { postgres, log, sites, secrets, projections, settings } = await session.open();
      const progress = (line: string) => {
        if (session.stop.aborted)
          throw new UserError('Interrupted before all checks were done. Run "history verify" again.');
        output.progress(line);
      };
      const verdict = await withReaderHold(postgres, 'history verify', 0, async ({ removedUntil }) => {
        const until = await log.head();
        const dependencies = { postgres, log, sites, secrets, projections, settings, until, removedUntil, progress };
        return verify(dependencies, allStreamChecks(removedUntil > 0), allChecks(projections));
      });
      output.endProgress();
      if (session.stop.aborted) progress('');
      await output.show(json, verdict, () => verdictText(verdict));
      if (!verdict.ok) session.exitCode = 1;
    },
  );

  addShadow(history, session);
  addRejudge(history, session);
}

function verdictText({ ok, checks }: VerifyReport): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.map((check) => {
    return `${check.ok ? 'ok  ' : 'FAIL'}  ${check.name.padEnd(width)}  ${printable(check.detail)}\n`;
  });
  return `${lines.join('')}${ok ? 'All checks passed.' : 'Some checks failed. See the lines marked FAIL.'}\n`;
}
