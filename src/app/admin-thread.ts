import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../kernel/errors.js';
import type { Logger } from '../kernel/logger.js';

const RESTART_FIRST_MS = 1_000;
const RESTART_MAX_MS = 60_000;
/** More than the management API needs; one that needs it all ends, and the service does not. */
const HEAP_MAX_MB = 512;

export type AdminMessage =
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** Runs the management API in a thread, and starts it again if it ends: conversions are accepted without it. */
export class AdminThread {
  private worker: Worker | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isStopping = false;
  private restartMs = RESTART_FIRST_MS;

  constructor(
    private readonly script: URL,
    private readonly logger: Logger,
  ) {}

  /** Does nothing after `stop`, which may come first. */
  start(): void {
    if (this.isStopping) return;
    const worker = new Worker(this.script, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MAX_MB } });
    let reason = 'the thread ended';
    worker.on('message', (message: AdminMessage) => {
      if (message.kind === 'failed') reason = message.reason;
      else {
        this.restartMs = RESTART_FIRST_MS;
        this.logger.info('The management API listens', { url: message.url });
      }
    });
    worker.on('error', (error) => {
      reason = messageOf(error);
    });
    worker.on('exit', () => this.restart(reason));
    this.worker = worker;
  }

  /** Requests that are being answered are finished. The caller limits how long that may take. */
  async stop(): Promise<void> {
    this.isStopping = true;
    clearTimeout(this.timer);
    const { worker } = this;
    if (!worker) return;
    worker.postMessage('stop');
    await once(worker, 'exit');
  }

  private restart(reason: string): void {
    this.worker = undefined;
    if (this.isStopping) return;
    this.logger.warn('The management API does not run; conversions are not affected. It is started again', {
      reason,
      inMs: this.restartMs,
    });
    this.timer = setTimeout(() => this.start(), this.restartMs).unref();
    this.restartMs = Math.min(this.restartMs * 2, RESTART_MAX_MS);
  }
}
