import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { constants, getPriority, setPriority } from 'node:os';
import { messageOf } from '../kernel/errors.js';
import type { Logger } from '../kernel/logger.js';

/** Shares of the grace period: by then the process has stopped by itself; by then it is killed, which a frozen one needs. */
export const STOPPED_WITHIN = 0.75;
const KILLED_AFTER = 0.85;
const RESTART_FIRST_MS = 1_000;
const RESTART_MAX_MS = 60_000;
/** Argument of the process: create such a link, if there is no user. */
export const WITH_FIRST_LINK = '--with-first-link';
/** More than the management API needs; one that needs it all ends, and the service does not. */
const HEAP_MAX_MB = 512;

export type AdminMessage =
  /** `firstLink` creates the first administrator: it is printed on a terminal and never logged. */
  | { readonly kind: 'listening'; readonly url: string; readonly firstLink?: string | undefined }
  | { readonly kind: 'failed'; readonly reason: string }
  /** A site was changed. The service answers with the same message when the change is in force. */
  | { readonly kind: 'changed'; readonly id: number };

export interface AdminProcessOptions {
  readonly script: URL;
  readonly logger: Logger;
  readonly graceMs: number;
  /** In place of PORT=0, the port on which conversions are accepted. */
  readonly servicePort?: string;
  /** Applies the changes of sites that are stored. */
  readonly applyChanges: () => Promise<void>;
  /** Gets the link that creates the first administrator, if there is no user. Undefined: there is no terminal to show it on. */
  readonly onListening?: ((firstLink: string | undefined) => void) | undefined;
  readonly restartFirstMs?: number;
}

/**
 * Runs the management API in a process, and starts it again if it ends: conversions are accepted without it. The channel to it
 * closes when the service ends in any way; the process then stops.
 */
export class AdminProcess {
  private child: ChildProcess | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isStopping = false;
  private restartMs: number;
  private readonly restartFirstMs: number;

  constructor(private readonly options: AdminProcessOptions) {
    this.restartFirstMs = options.restartFirstMs ?? RESTART_FIRST_MS;
    this.restartMs = this.restartFirstMs;
  }

  /** Does nothing after `stop`, which may come first. */
  start(): void {
    if (this.isStopping) return;
    try {
      this.child = this.spawn();
    } catch (error) {
      this.restart(messageOf(error));
    }
  }

  /** Requests that are being answered are finished, as far as the grace period allows. */
  async stop(): Promise<void> {
    this.isStopping = true;
    clearTimeout(this.timer);
    const { child } = this;
    if (!child) return;
    const exited = once(child, 'exit');
    if (child.connected) child.disconnect();
    const killer = setTimeout(() => child.kill('SIGKILL'), this.options.graceMs * KILLED_AFTER);
    await exited;
    clearTimeout(killer);
  }

  private spawn(): ChildProcess {
    const { script, logger, servicePort, onListening } = this.options;
    const child = fork(script, onListening ? [WITH_FIRST_LINK] : [], {
      execArgv: execArgvOfChild(process.execArgv),
      ...(servicePort !== undefined && { env: { ...process.env, PORT: servicePort } }),
      // Both write whole lines of JSON to the same standard error; standard output has the banner only.
      stdio: ['ignore', 2, 2, 'ipc'],
    });
    lowerPriority(child.pid);
    let reason: string | undefined;
    let listeningMs: number | undefined;
    child.on('message', (message: AdminMessage) => {
      if (message.kind === 'failed') reason = message.reason;
      else if (message.kind === 'changed') this.applyChanges(child, message);
      else {
        listeningMs = performance.now();
        logger.info('The management API listens', { url: message.url, process: child.pid });
        onListening?.(message.firstLink);
      }
    });
    child.on('error', (error) => {
      // Without a process there is no exit.
      if (child.pid === undefined) this.restart(error.message);
    });
    child.once('exit', (code, signal) => {
      // One that listened for a moment only would otherwise be started again and again without a pause.
      const hasWorked = listeningMs !== undefined && performance.now() - listeningMs > RESTART_MAX_MS;
      if (hasWorked) this.restartMs = this.restartFirstMs;
      this.restart(reason ?? (signal ? `killed by ${signal}` : `ended with exit code ${code}`));
    });
    return child;
  }

  /** Without an answer, such as from a service that cannot read the log, the management API waits as long as that takes at most. */
  private applyChanges(child: ChildProcess, message: AdminMessage): void {
    this.options.applyChanges().then(
      () => child.connected && child.send(message, () => {}),
      () => {},
    );
  }

  private restart(reason: string): void {
    this.child = undefined;
    if (this.isStopping) return;
    this.options.logger.warn('The management API does not run; conversions are not affected. It is started again', {
      reason,
      inMs: this.restartMs,
    });
    this.timer = setTimeout(() => this.start(), this.restartMs).unref();
    this.restartMs = Math.min(this.restartMs * 2, RESTART_MAX_MS);
  }
}

/** When all processors are busy, conversions come first. At once after its start, so that its threads inherit it. */
function lowerPriority(pid: number | undefined): void {
  const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority;
  try {
    if (pid !== undefined) setPriority(pid, Math.min(getPriority() + PRIORITY_BELOW_NORMAL, PRIORITY_LOW));
  } catch {
    // It has ended already.
  }
}

/** The flags of the service, but not its debugger, whose port is taken, and its young generation; the last heap limit counts. */
export function execArgvOfChild(execArgv: readonly string[]): string[] {
  const inherited = execArgv.filter((flag) => !/^--(?:inspect|max-semi-space-size)/.test(flag));
  return [...inherited, `--max-old-space-size=${HEAP_MAX_MB}`];
}
