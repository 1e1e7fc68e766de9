// The database of a drill as a primary with a standby under Patroni. Servers reach each other through proxies, so that a drill can
// delay replication.
import { join } from 'node:path';
import pg from 'pg';
import { ClusterDatabase } from '../../../deploy/cluster/database.mjs';
import { missingPackages } from '../../../deploy/cluster/programs.mjs';
import { TcpProxy } from './proxy.mjs';
import { QueriedDatabase } from './queried-database.mjs';

export class ClusteredDatabase extends QueriedDatabase {
  #proxies = [];

  static async open(directory, options) {
    const missing = missingPackages();
    if (missing.length > 0) throw new Error(`Install the Debian packages first: apt-get install ${missing.join(' ')}`);
    const database = new ClusteredDatabase();
    const reachAt = async (port) => {
      const proxy = await TcpProxy.start({ host: '127.0.0.1', port });
      database.#proxies.push(proxy);
      return proxy.port;
    };
    try {
      database.cluster = await ClusterDatabase.start(join(directory, 'cluster'), { ...options, reachAt });
    } catch (error) {
      await database.stop();
      throw error;
    }
    return database;
  }

  /** One instance is led to the primary by the list of servers, the next one by HAProxy. */
  get urls() {
    return [this.cluster.url, this.cluster.proxyUrl];
  }

  get logFiles() {
    return this.cluster.nodes.map(({ logFile }) => logFile);
  }

  /** Latency of everything that a standby receives and confirms. */
  set replicationLatencyMs(ms) {
    for (const proxy of this.#proxies) proxy.latencyMs = ms;
  }

  /** To the primary, or to another server. */
  async connect(node) {
    const { port } = node ?? (await this.cluster.primary()) ?? {};
    if (port === undefined) throw new Error('There is no primary.');
    const { password } = this.cluster;
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', password, database: 'postgres' });
    // A killed server ends the connection; the next query reports it.
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  async stop() {
    await this.cluster?.stop();
    for (const proxy of this.#proxies) await proxy.stop();
  }
}
