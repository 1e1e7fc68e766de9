import type { Client } from 'pg';
import type { Postgres } from '../../postgres/postgres.js';

const CHANNEL = 'cc_log';
const NOTIFY_EVERY_MS = 20;
const RECONNECT_AFTER_MS = 1_000;

/**
 * Notifies followers in this and other processes of appends (LISTEN/NOTIFY). Best effort: correctness does not depend on it.
 * NOTIFY is sent after the commit and at most every 20 ms, because inside the append it would hold a server-wide lock.
 */
export class AppendNotifications {
  private readonly listeners = new Set<(category: string) => void>();
  private readonly pending = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private client: Promise<Client> | undefined;
  private reconnecting: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(private readonly postgres: Postgres) {}

  notify(category: string): void {
    if (this.closed) return;
    this.pending.add(category);
    this.timer ??= setTimeout(() => void this.send(), NOTIFY_EVERY_MS);
  }

  on(listener: (category: string) => void): () => void {
    this.listeners.add(listener);
    if (!this.client) this.startListening();
    return () => this.listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    // A command of the CLI ends before the timer fires; notify other processes all the same.
    if (this.pending.size > 0) await this.send();
    clearTimeout(this.reconnecting);
    await this.client?.then((client) => client.end()).catch(() => {});
  }

  private async send(): Promise<void> {
    this.timer = undefined;
    const categories = [...this.pending].join(',');
    this.pending.clear();
    await this.postgres.pool.query('SELECT pg_notify($1, $2)', [CHANNEL, categories]).catch(() => {});
  }

  private startListening(): void {
    this.client = this.listen();
    this.client.catch(() => {});
  }

  private async listen(): Promise<Client> {
    try {
      const client = await this.postgres.connect('notifications');
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
