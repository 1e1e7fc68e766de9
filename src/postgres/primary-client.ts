import type { EventEmitter } from 'node:events';
import { Client, type ClientConfig } from 'pg';
import { closeSocket, type DatabaseHosts, setHost } from './database-hosts.js';

/** "Cannot execute … in a read-only transaction". */
const READ_ONLY = '25006';

export interface PrimaryClientConfig extends ClientConfig {
  readonly hosts: DatabaseHosts;
}

/**
 * A connection to the primary: all pools and dedicated connections use it. One to a standby is refused, and one to a server that
 * turns out to be read-only is closed, so that the next connection searches for the primary again.
 */
export class PrimaryClient extends Client {
  private isStandby = false;
  /** Hidden, as pg hides the password: a client that is printed must not show it. */
  readonly #config: PrimaryClientConfig;

  constructor(config: PrimaryClientConfig) {
    super(config);
    this.#config = config;
    // The next query reports a broken connection; without a listener the event would end the process.
    this.on('error', () => {});
    const { connection } = this as unknown as { connection: EventEmitter };
    // Reported by the server without being asked, from PostgreSQL 14 on. A pooler may not pass it on.
    connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
      if (parameterName === 'in_hot_standby') this.isStandby = parameterValue === 'on';
    });
    connection.on('errorMessage', ({ code }) => {
      // After the query has received the error.
      if (code === READ_ONLY) setImmediate(() => closeSocket(this));
    });
  }

  override connect(): Promise<this>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<this> | undefined {
    const connecting = this.connectToPrimary();
    if (!callback) return connecting;
    connecting.then(
      () => process.nextTick(callback),
      (error: Error) => process.nextTick(callback, error),
    );
    return undefined;
  }

  private async connectToPrimary(): Promise<this> {
    const { hosts } = this.#config;
    const at = await hosts.primary(this.#config);
    if (at) {
      setHost(this, at);
      hosts.opening(this, at);
    }
    try {
      await super.connect();
    } catch (error) {
      hosts.failed();
      throw error;
    }
    if (this.isStandby && (await this.isInRecovery())) {
      closeSocket(this);
      throw hosts.refuse(this);
    }
    hosts.opened();
    return this;
  }

  /** A pooler may report the state of an earlier connection. */
  private async isInRecovery(): Promise<boolean> {
    const { rows } = await this.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
    return rows[0]?.standby ?? false;
  }
}
