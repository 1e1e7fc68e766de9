import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Logger } from '../kernel/logger.js';
import { AdminProcess, type AdminProcessOptions, execArgvOfChild } from './admin-process.js';

const LISTEN = `process.send({ kind: 'listening', url: 'http://localhost:1' });`;
const END_WITH_THE_SERVICE = `process.once('disconnect', () => process.exit());`;

describe('the process of the management API', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cc-admin-process-'));
  let admin: AdminProcess | undefined;
  let lines: Record<string, unknown>[] = [];
  let changed: () => void = () => {};

  afterEach(() => admin?.stop());
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function start(source: string, options: Partial<AdminProcessOptions> = {}): AdminProcess {
    const path = join(folder, 'script.mjs');
    writeFileSync(path, source);
    lines = [];
    const write = (line: string) => {
      lines.push(JSON.parse(line));
      changed();
    };
    const logger = new Logger('info', { write });
    const defaults = { graceMs: 60_000, restartFirstMs: 10, applyChanges: async () => {} };
    admin = new AdminProcess({ script: pathToFileURL(path), logger, ...defaults, ...options });
    admin.start();
    return admin;
  }

  /** Resolves with the lines that have this field, as soon as there are so many. */
  async function logged(field: string, count: number): Promise<unknown[]> {
    for (;;) {
      const values = lines.filter((line) => field in line).map((line) => line[field]);
      if (values.length >= count) return values;
      await new Promise<void>((resolve) => {
        changed = resolve;
      });
    }
  }
  const startedProcess = async () => (await logged('process', 1))[0] as number;

  it('stops when the channel to it closes', async () => {
    start(`${LISTEN} ${END_WITH_THE_SERVICE}`);
    const pid = await startedProcess();
    await admin?.stop();
    expect(isRunning(pid)).toBe(false);
    expect(lines.filter(({ reason }) => reason)).toEqual([]);
  });

  it('is told when a change of a site is in force, and not before', async () => {
    const order: string[] = [];
    const applyChanges = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      order.push('applied');
    };
    start(
      `${END_WITH_THE_SERVICE} process.send({ kind: 'changed', id: 7 });
       process.on('message', ({ kind, id }) => process.send({ kind: 'listening', url: kind + ' ' + id }));`,
      { applyChanges },
    );
    expect((await logged('url', 1))[0]).toBe('changed 7');
    expect(order).toEqual(['applied']);
  });

  it('has a lower priority than the service', async () => {
    start(`${LISTEN} ${END_WITH_THE_SERVICE}`);
    expect(getPriority(await startedProcess())).toBe(Math.min(getPriority() + 10, 19));
  });

  it('is killed if it is frozen', async () => {
    start(`${LISTEN} ${END_WITH_THE_SERVICE}`, { graceMs: 1_000 });
    const pid = await startedProcess();
    process.kill(pid, 'SIGSTOP');
    await admin?.stop();
    expect(isRunning(pid)).toBe(false);
  });

  it('is started again with growing pauses, also if it listens each time', async () => {
    start(`process.send({ kind: 'listening', url: 'http://localhost:1' }, () => process.exit(3));`);
    expect((await logged('inMs', 3)).slice(0, 3)).toEqual([10, 20, 40]);
    expect((await logged('reason', 3))[0]).toBe('ended with exit code 3');
  });

  it('names why it ended', async () => {
    start(`process.send({ kind: 'failed', reason: 'the port is in use' }, () => process.exit(1));`);
    expect((await logged('reason', 1))[0]).toBe('the port is in use');
  });

  it('names the signal that killed it', async () => {
    start(`${LISTEN} ${END_WITH_THE_SERVICE}`);
    process.kill(await startedProcess(), 'SIGKILL');
    expect((await logged('reason', 1))[0]).toBe('killed by SIGKILL');
    await logged('process', 2);
  });

  it('is asked for the link of the first administrator only if it can be shown, and the link is not logged', async () => {
    const source = `const firstLink = process.argv[2] && 'http://localhost:1/sign-in#secret';
      process.send({ kind: 'listening', url: 'http://localhost:1', firstLink }); ${END_WITH_THE_SERVICE}`;
    const shown: string[] = [];
    start(source, { onListening: (link) => shown.push(String(link)) });
    await startedProcess();
    await admin?.stop();
    expect(shown).toEqual(['http://localhost:1/sign-in#secret']);
    expect(JSON.stringify(lines)).not.toContain('secret');
    start(source);
    await startedProcess();
    expect(shown).toHaveLength(1);
  });

  it('is not started after it was stopped', async () => {
    const options = { graceMs: 1, applyChanges: async () => {} };
    const stopped = new AdminProcess({ script: new URL('file:///none.mjs'), logger: new Logger('silent'), ...options });
    await stopped.stop();
    stopped.start();
    await stopped.stop();
  });

  it('gets the flags of the service without its debugger and its young generation, and a heap limit of its own', () => {
    const flags = [
      '--enable-source-maps',
      '--max-semi-space-size=32',
      '--inspect-brk=9229',
      '--max-old-space-size=4096',
    ];
    expect(execArgvOfChild(flags)).toEqual([
      '--enable-source-maps',
      '--max-old-space-size=4096',
      '--max-old-space-size=512',
    ]);
  });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
