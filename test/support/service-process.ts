import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const READY_WITHIN_MS = 40_000;

/** The service as a process of its own, as people run it: it can be killed, frozen and told to stop. */
export interface ServiceProcess {
  readonly child: ChildProcess;
  readonly url: string;
  /** Of the demo site on localhost. */
  readonly key: string;
  /** Everything it wrote so far. */
  output(): string;
  /** Sends a signal and resolves with the exit code, or the signal's name, when the process is gone. */
  end(signal: NodeJS.Signals): Promise<number | string>;
}

export async function spawnService(dataDir: string, env: Record<string, string> = {}): Promise<ServiceProcess> {
  const child = spawn(process.execPath, ['--enable-source-maps', MAIN], {
    env: {
      PATH: process.env['PATH'] ?? '',
      DATA_DIR: dataDir,
      PORT: '0',
      LOG_LEVEL: 'warn',
      DEMO_PLATFORMS: 'false',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    const tooLate = setTimeout(() => reject(new Error(`not up in time: ${output}`)), READY_WITHIN_MS);
    const listen = (chunk: Buffer) => {
      output += chunk;
      const found = /listens on (\S+)\n[\s\S]*Stop: Ctrl-C/.exec(output)?.[1];
      if (!found) return;
      clearTimeout(tooLate);
      resolve(found.replace('localhost', '127.0.0.1'));
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    child.once('exit', (code) => reject(new Error(`exit ${code}: ${output}`)));
  });
  return {
    child,
    url,
    key: env['DATABASE_URL'] ? '' : readFileSync(join(dataDir, 'demo-key'), 'utf8').trim(),
    output: () => output,
    end: async (signal) => {
      if (child.exitCode !== null) throw new Error(`it had ended already, with ${child.exitCode}: ${output}`);
      const gone = once(child, 'exit');
      child.kill(signal);
      const [code, by] = await gone;
      return code ?? by;
    },
  };
}
