import type { Command } from 'commander';
import type { Check } from '../app/doctor/check.js';
import { printable } from './output.js';
import { runDoctor } from './run-doctor.js';
import type { Session } from './session.js';
import { subcommand } from './subcommand.js';

export function addDoctor(program: Command, session: Session): void {
  subcommand(program, 'doctor', 'Check the machine, the settings, the database and the service', 'doctor').action(
    async ({ json }: { json?: true }) => {
      const checks = await runDoctor(session);
      const ok = checks.every((check) => check.ok);
      await session.output.show(json, { ok, checks }, () => checks.map(checkLines).join(''));
      if (!ok) session.exitCode = 1;
    },
  );
}

function checkLines({ name, ok, detail, fix }: Check): string {
  const lines = [`${ok ? 'ok  ' : 'FAIL'}  ${name.padEnd(12)}  ${printable(oneLine(detail))}`];
  if (fix) lines.push(`${' '.repeat(20)}→ ${printable(oneLine(fix))}`);
  return `${lines.join('\n')}\n`;
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' | ');
}
