import type { Command } from 'commander';
import type { Check } from '../app/doctor/check.js';
import { checkMark, type Layout, MARK_WIDTH } from './output/layout.js';
import { printable, wrapped } from './output/table.js';
import { runDoctor } from './run-doctor.js';
import type { Session } from './session.js';
import { subcommand } from './subcommand.js';

const NAME_WIDTH = 12;
const INDENT = MARK_WIDTH + NAME_WIDTH + 2;

export function addDoctor(program: Command, session: Session): void {
  subcommand(program, 'doctor', 'Check the machine, the settings, the database and the service', 'doctor').action(
    async ({ json }: { json?: true }) => {
      const checks = await runDoctor(session);
      const ok = checks.every((check) => check.ok);
      await session.output.show(json, { ok, checks }, (layout) =>
        checks.map((check) => checkLines(check, layout)).join(''),
      );
      if (!ok) session.exitCode = 1;
    },
  );
}

function checkLines({ name, ok, detail, fix, warning }: Check, layout: Layout): string {
  const lines = [
    `${checkMark(layout, ok, warning)}  ${name.padEnd(NAME_WIDTH)}  ${wrapped(printable(oneLine(detail)), layout, INDENT)}`,
  ];
  if (fix) lines.push(`${' '.repeat(INDENT)}${wrapped(`→ ${printable(oneLine(fix))}`, layout, INDENT)}`);
  return `${lines.join('\n')}\n`;
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' | ');
}
