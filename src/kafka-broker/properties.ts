export interface NodeAddress {
  readonly id: number;
  readonly port: number;
  readonly controllerPort: number;
}

/** Properties of one node: broker and controller in one process, on loopback, with small buffers and a fast restart. */
export function serverProperties(
  node: NodeAddress,
  nodes: readonly NodeAddress[],
  dataDir: string,
  overrides: Readonly<Record<string, string>> = {},
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
    // The relay creates its topics. One created by a typing error would have the wrong partition count.
    'auto.create.topics.enable': false,
    'default.replication.factor': replicas,
    'min.insync.replicas': inSync,
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': 1,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': inSync,
    'transaction.state.log.num.partitions': 1,
    // The default of 3 s delays every new group, and no other member is about to join.
    'group.initial.rebalance.delay.ms': 0,
    // The default uses 128 MB of heap.
    'log.cleaner.dedupe.buffer.size': 2 * 1024 * 1024,
    // After a kill the controller waits until the old registration expires; the default is 9 s.
    'broker.session.timeout.ms': 3_000,
    'broker.heartbeat.interval.ms': 500,
    'num.network.threads': 2,
    'num.io.threads': 4,
    'background.threads': 2,
    ...overrides,
  };
  return `${Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')}\n`;
}
