import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { recordedSocketDir } from '../../src/postgres/postmaster.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const READY_WITHIN_MS = 90_000;

/** The service as a separate process, which a test can kill, suspend and stop. */
export interface ServiceProcess {
  readonly child: ChildProcess;
  readonly url: string;
  /** The API key of the demo site on localhost. */
  readonly key: string;
  /** Everything written to standard output and standard error so far. */
  output(): string;
  /** Sends a signal; resolves with the exit code, or the signal's name, when the process has exited. */
  end(signal: NodeJS.Signals): Promise<number | string>;
}

/** Settings of another instance on the embedded database of a running service, which owns the data folder. */
export function sharedDatabase(dataDir: string): Record<string, string> {
  const socketDir = recordedSocketDir(realpathSync(join(dataDir, 'postgres'))) as string;
  return {
    DATABASE_URL: `postgres://postgres@/postgres?host=${encodeURIComponent(socketDir)}`,
    SECRET_KEY: readFileSync(join(dataDir, 'secret-key'), 'utf8').trim(),
  };
}

export async function spawnService(dataDir: string, env: Record<string, string> = {}): Promise<ServiceProcess> {
  const child = spawn(process.execPath, ['--max-semi-space-size=32', MAIN], {
    env: {
      PATH: process.env['PATH'] ?? '',
      DATA_DIR: dataDir,
      PORT: '0',
      ADMIN_PORT: 'off',
      LOG_LEVEL: 'warn',
      DEMO_PLATFORMS: 'false',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    const deadline = setTimeout(() => reject(new Error(`Not ready in time: ${output}`)), READY_WITHIN_MS);
    const read = (chunk: Buffer) => {
      output += chunk;
      const announced = /listens on (\S+)\n[\s\S]*Stop: Ctrl-C/.exec(output)?.[1];
      if (!announced) return;
      clearTimeout(deadline);
      resolve(announced.replace('localhost', '127.0.0.1'));
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('exit', (code) => {
      clearTimeout(deadline);
      reject(new Error(`Exited with ${code}: ${output}`));
    });
  });
  return {
    child,
    url,
    key: env['DATABASE_URL'] ? '' : readFileSync(join(dataDir, 'demo-key'), 'utf8').trim(),
    output: () => output,
    end: async (signal) => {
      if (child.exitCode !== null) throw new Error(`Already exited with ${child.exitCode}: ${output}`);
      const exited = once(child, 'exit');
      child.kill(signal);
      const [code, killedBy] = await exited;
      return code ?? killedBy;
    },
  };
}
