export interface NodeAddress {
  readonly id: number;
  readonly port: number;
  readonly controllerPort: number;
}

/** The settings of one node: broker and controller in one process, on loopback, frugal, and quick to come back. */
export function serverProperties(
  node: NodeAddress,
  nodes: readonly NodeAddress[],
  dataDir: string,
  others: Readonly<Record<string, string>> = {},
): string {
  const replicas = Math.min(3, nodes.length);
  const inSync = replicas > 1 ? 2 : 1;
  const settings = {
    'process.roles': 'broker,controller',
    'node.id': node.id,
    listeners: `PLAINTEXT://127.0.0.1:${node.port},CONTROLLER://127.0.0.1:${node.controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${node.port}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'controller.quorum.voters': nodes.map(({ id, controllerPort }) => `${id}@127.0.0.1:${controllerPort}`).join(','),
    'log.dirs': dataDir,
    // The relay makes its topics itself: one that appears by a typing error would have nobody's partition count.
    'auto.create.topics.enable': false,
    'default.replication.factor': replicas,
    'min.insync.replicas': inSync,
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': 1,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': inSync,
    'transaction.state.log.num.partitions': 1,
    // Three seconds otherwise, for every group that forms: nobody else is about to join.
    'group.initial.rebalance.delay.ms': 0,
    // 128 MB of heap otherwise.
    'log.cleaner.dedupe.buffer.size': 2 * 1024 * 1024,
    // After a kill the controller waits the old registration out: nine seconds otherwise.
    'broker.session.timeout.ms': 3_000,
    'broker.heartbeat.interval.ms': 500,
    'num.network.threads': 2,
    'num.io.threads': 4,
    'background.threads': 2,
    ...others,
  };
  return `${Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')}\n`;
}
