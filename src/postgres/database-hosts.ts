import { Client, type ClientConfig } from 'pg';
import { messageOf, UserError } from '../kernel/errors.js';
import { isDatabaseOutage } from './outage.js';

/** A server that does not tell its role by then is frozen, or its machine is gone. */
const ROLE_WITHIN_MS = 2_000;
/** How long a primary waits for another one: after a failover the old one may not know yet that it has been replaced. */
const OTHERS_WITHIN_MS = 250;
/** Connections are opened in groups, for which one search is enough. */
const FOUND_FOR_MS = 1_000;
/** So long a primary on an earlier timeline is not used: another one was promoted after it, and may only be slow to answer. */
const EARLIER_REFUSED_MS = 30_000;
const DEFAULT_PORT = 5432;

interface DatabaseHost {
  readonly host: string;
  readonly port: number;
}

/** No server that accepts writes was found. Waiting helps: a standby is being promoted, or a server restarted. */
export class NoPrimary extends Error {
  override readonly name = 'NoPrimary';
  /** "Cannot connect now", as of a server that starts up. */
  readonly code = '57P03';

  constructor(
    message: string,
    /** Without names of servers, for readers outside. */
    readonly summary: string,
  ) {
    super(message);
  }
}

interface Answer {
  readonly at: DatabaseHost;
  /** Only a primary has one. Later timelines are greater. */
  readonly timeline?: string;
  readonly error?: unknown;
}

/**
 * The servers of DATABASE_URL, of which one is the primary. pg connects to one host only; this finds the one to connect to, as
 * libpq does for `target_session_attrs=read-write`, with two differences: all hosts are asked at the same time, so that a frozen
 * one does not delay each connection, and of two primaries the one with the later timeline is chosen.
 */
export class DatabaseHosts {
  private found: { readonly at: DatabaseHost; readonly ms: number } | undefined;
  private searching: Promise<DatabaseHost> | undefined;
  private current: DatabaseHost | undefined;
  /** The latest that was found. */
  private timeline = '';
  private earlierSinceMs: number | undefined;
  private readonly connected = new Map<Client, DatabaseHost>();
  /** Why the last search found no primary; undefined if it found one. */
  refusal: string | undefined;

  constructor(
    private readonly hosts: readonly DatabaseHost[],
    private readonly onMessage: (line: string) => void = () => {},
  ) {}

  /** Where to connect; undefined if the configuration names the only server. */
  async primary(config: ClientConfig): Promise<DatabaseHost | undefined> {
    if (this.hosts.length < 2) return undefined;
    if (this.found && performance.now() - this.found.ms < FOUND_FOR_MS) return this.found.at;
    this.searching ??= this.search(config).finally(() => {
      this.searching = undefined;
    });
    return this.searching;
  }

  /** The next connection searches again. */
  failed(): void {
    this.found = undefined;
  }

  /** A connection to a server that turned out to be a standby. */
  refuse(client: Client): NoPrimary {
    this.failed();
    this.refusal = 'the database is a standby, which stores nothing';
    return new NoPrimary(`the server at ${nameOf(client)} is a standby, which accepts no writes`, this.refusal);
  }

  /**
   * Connections to an earlier primary are closed when another one is found: it may be frozen, or not know about the other one. Also
   * those that are being opened: a frozen server would accept them when it continues.
   */
  opening(client: Client, at: DatabaseHost): void {
    this.connected.set(client, at);
    client.once('end', () => this.connected.delete(client));
  }

  opened(): void {
    this.refusal = undefined;
  }

  private async search(config: ClientConfig): Promise<DatabaseHost> {
    const answers = await this.askAll(config);
    const [newest] = answers
      .filter(({ timeline }) => timeline !== undefined)
      .sort((one, other) => ((one.timeline as string) < (other.timeline as string) ? 1 : -1));
    if (!newest || this.isEarlier(newest)) throw this.noPrimary(answers);
    this.timeline = newest.timeline as string;
    this.found = { at: newest.at, ms: performance.now() };
    this.moveTo(newest.at);
    return newest.at;
  }

  /** Whether a replaced primary answered, which does not know it yet. One that stays the only one was restored. */
  private isEarlier({ timeline = '' }: Answer): boolean {
    if (timeline >= this.timeline) {
      this.earlierSinceMs = undefined;
      return false;
    }
    this.earlierSinceMs ??= performance.now();
    return performance.now() - this.earlierSinceMs < EARLIER_REFUSED_MS;
  }

  private moveTo(at: DatabaseHost): void {
    if (this.current && this.current !== at) {
      this.onMessage(`The primary of the database is now ${nameOf(at)}, before it was ${nameOf(this.current)}.`);
    }
    this.current = at;
    for (const [client, connectedTo] of this.connected) if (connectedTo !== at) closeSocket(client);
  }

  private askAll(config: ClientConfig): Promise<Answer[]> {
    const answers: Answer[] = [];
    return new Promise((resolve) => {
      for (const at of this.hosts)
        void askTimeline(config, at).then((answer) => {
          answers.push(answer);
          if (answers.length === this.hosts.length) resolve(answers);
          else if (answer.timeline !== undefined) setTimeout(() => resolve([...answers]), OTHERS_WITHIN_MS);
        });
    });
  }

  private noPrimary(answers: readonly Answer[]): unknown {
    const errors = answers.map(({ error }) => error);
    // A wrong password is refused by every server: that is not an outage.
    const [first] = errors;
    if (errors.every((error) => error !== undefined && !isDatabaseOutage(error))) return first;
    const silent = errors.filter((error) => error !== undefined).length;
    const replaced = answers.filter(({ timeline }) => timeline !== undefined).length;
    const standbys = answers.length - silent - replaced;
    this.refusal =
      `the database has no primary: ${standbys} of its servers are standbys, ${silent} do not answer` +
      (replaced > 0 ? `, ${replaced} accept writes on an earlier timeline than another one did` : '');
    const details = answers.map(({ at, error, timeline }) => {
      const state = timeline === undefined ? 'is a standby' : 'is a primary that another one has replaced';
      return `${nameOf(at)} ${error ? messageOf(error) : state}`;
    });
    return new NoPrimary(`no server accepts writes: ${details.join('; ')}`, this.refusal);
  }
}

/** The hosts of a connection URL, and the URL with the first one only, which pg and TypeORM can parse. */
export function splitHosts(url: string): { readonly url: string; readonly hosts: readonly DatabaseHost[] } {
  const [, start = '', list = '', rest = ''] = /^([a-z]+:\/\/(?:[^/?]*@)?)([^/?]*)(.*)$/s.exec(url) ?? [];
  const names = list.split(',');
  return { url: `${start}${names[0]}${rest}`, hosts: names.map(parseHost) };
}

function parseHost(text: string): DatabaseHost {
  const parts = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(text);
  // Not quoted: it may contain a part of the password.
  if (!parts) throw new UserError('A host of DATABASE_URL is not a name, or a name and a port such as db1:5432.');
  const [, bracketed, name = '', port] = parts;
  return { host: decodeURIComponent(bracketed ?? name) || 'localhost', port: Number(port ?? DEFAULT_PORT) };
}

/** The configuration's own host must be replaced afterwards: one in a connection string takes precedence over the others. */
export function setHost(client: Client, { host, port }: DatabaseHost): void {
  Object.assign(client, { host, port });
}

/** Ends a connection without a message to the server, which may be frozen. Its queries fail at once. */
export function closeSocket(client: Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

async function askTimeline(config: ClientConfig, at: DatabaseHost): Promise<Answer> {
  const limits = { connectionTimeoutMillis: ROLE_WITHIN_MS, query_timeout: ROLE_WITHIN_MS };
  const client = new Client({ ...config, ...limits });
  setHost(client, at);
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ timeline: string | null }>(
      `SELECT CASE WHEN NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off'
                   THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline`,
    );
    const timeline = rows[0]?.timeline;
    return timeline ? { at, timeline } : { at };
  } catch (error) {
    return { at, error };
  } finally {
    closeSocket(client);
  }
}

function nameOf({ host, port }: DatabaseHost): string {
  return `${host}:${port}`;
}
