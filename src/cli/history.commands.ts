import type { Command } from 'commander';
import { allChecks, allStreamChecks } from '../history/checks.js';
import { type VerifyReport, verify } from '../history/verify.js';
import { UserError } from '../kernel/errors.js';
import { isShortened } from '../log/log-audit.js';
import { addRejudge } from './history-rejudge.js';
import { printable } from './output.js';
import type { Session } from './session.js';
import { addShadow } from './shadow.command.js';
import { commandGroup, verb } from './verb.js';

export function addHistory(program: Command, session: Session): void {
  const { output } = session;
  const history = commandGroup(program, 'history', 'Check the whole log, and try other rules on it');

  verb(
    history,
    'verify',
    'Recompute the books from the whole log, and say whether they close',
    'history verify',
  ).action(async ({ json }: { json?: true }) => {
    const { postgres, log, sites, secrets, projections, settings } = await session.open();
    const shortened = await isShortened(postgres.pool);
    const progress = (line: string) => {
      if (session.stop.aborted)
        throw new UserError('Interrupted: not every book was read. Run "history verify" again.');
      output.progress(line);
    };
    const until = await log.head();
    const world = { postgres, log, sites, secrets, projections, settings, until, progress };
    const verdict = await verify(world, allStreamChecks(shortened), allChecks(projections, shortened));
    output.endProgress();
    if (session.stop.aborted) progress('');
    await output.show(json, verdict, () => verdictText(verdict));
    if (!verdict.ok) session.exitCode = 1;
  });

  addShadow(history, session);
  addRejudge(history, session);
}

function verdictText({ ok, checks }: VerifyReport): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.map((check) => {
    return `${check.ok ? 'ok  ' : 'FAIL'}  ${check.name.padEnd(width)}  ${printable(check.detail)}\n`;
  });
  return `${lines.join('')}${ok ? 'The books close.' : 'The books do not close.'}\n`;
}
