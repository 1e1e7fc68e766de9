import type { Client } from 'pg';
import type { Postgres } from '../postgres/postgres.js';

const CHANNEL = 'cc_log';
const TELL_EVERY_MS = 20;
const RECONNECT_AFTER_MS = 1_000;

/**
 * Tells readers, in this process and in others, that something was appended. A courtesy: nothing depends on it. NOTIFY
 * is sent after the commit and at most every 20 ms, because inside the append it would hold a lock of the whole server.
 */
export class WakeUp {
  private readonly listeners = new Set<(category: string) => void>();
  private readonly untold = new Set<string>();
  private telling: NodeJS.Timeout | undefined;
  private client: Promise<Client> | undefined;
  private reconnecting: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(private readonly postgres: Postgres) {}

  tell(category: string): void {
    if (this.closed) return;
    this.untold.add(category);
    this.telling ??= setTimeout(() => void this.send(), TELL_EVERY_MS);
  }

  on(listener: (category: string) => void): () => void {
    this.listeners.add(listener);
    if (!this.client) this.startListening();
    return () => this.listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.telling);
    // A verb of the command line is over in less than the wait: others hear of it all the same.
    if (this.untold.size > 0) await this.send();
    clearTimeout(this.reconnecting);
    await this.client?.then((client) => client.end()).catch(() => {});
  }

  private async send(): Promise<void> {
    this.telling = undefined;
    const categories = [...this.untold].join(',');
    this.untold.clear();
    await this.postgres.pool.query('SELECT pg_notify($1, $2)', [CHANNEL, categories]).catch(() => {});
  }

  private startListening(): void {
    this.client = this.listen();
    this.client.catch(() => {});
  }

  private async listen(): Promise<Client> {
    try {
      const client = await this.postgres.connect('wake-up');
      client.on('notification', (message) => {
        for (const category of (message.payload ?? '').split(','))
          for (const listener of this.listeners) listener(category);
      });
      client.on('end', () => this.listenAgain());
      await client.query(`LISTEN ${CHANNEL}`);
      return client;
    } catch (error) {
      this.listenAgain();
      throw error;
    }
  }

  private listenAgain(): void {
    if (this.closed || this.reconnecting) return;
    this.reconnecting = setTimeout(() => {
      this.reconnecting = undefined;
      this.startListening();
    }, RECONNECT_AFTER_MS);
  }
}
