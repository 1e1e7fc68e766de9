import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf, UserError } from '../kernel/errors.js';
import { type BrokerCluster, startBrokers } from './broker.js';

const HELP = `npm run kafka [-- options]

  --nodes <n>      number of brokers (default 1; a cluster of 3 survives the loss of one)
  --port <port>    port of the first broker, the others use the following ports (default 9092; 0: free ports)
  --data <folder>  data directory (default .data/kafka)

Starts Apache Kafka on this machine, for development and tests. Requires Java 17 and, on first use, Maven. Stop: Ctrl-C
`;

try {
  await main();
} catch (error) {
  const isExpected = error instanceof UserError || (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS');
  process.stderr.write(`${isExpected ? messageOf(error) : ((error as Error).stack ?? messageOf(error))}\n`);
  process.exit(1);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      nodes: { type: 'string', default: '1' },
      port: { type: 'string', default: '9092' },
      data: { type: 'string', default: '.data/kafka' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const log = (line: string) => process.stderr.write(`${line}\n`);
  const nodes = wholeNumber('--nodes', values.nodes, 1, 9);
  const port = wholeNumber('--port', values.port, 0, 65_535);
  log(`Starting ${nodes === 1 ? 'a broker' : `${nodes} brokers`} …`);
  let cluster: BrokerCluster | undefined;
  let stopping = false;
  const stop = async () => {
    if (stopping) return;
    stopping = true;
    await cluster?.stop();
    // During the start this kills Maven, the storage tool and the brokers, which would otherwise stay.
    process.exit(0);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stop());
  cluster = await startBrokers({ dataDir: resolve(values.data), nodes, port, log });
  process.stdout.write(
    `Kafka is ready on ${cluster.brokers}. Start the service with KAFKA_BROKERS=${cluster.brokers}. Stop: Ctrl-C\n`,
  );
  await Promise.race(cluster.nodes.map(({ exited }) => exited));
  if (!stopping) {
    await cluster.stop();
    throw new UserError(
      `A broker exited unexpectedly. See broker.log in the node's folder in ${resolve(values.data)}.`,
    );
  }
  // The signal handler exits the process when all brokers have stopped.
  await new Promise(() => {});
}

function wholeNumber(name: string, text: string, min: number, max: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= min && number <= max) return number;
  throw new UserError(`${name}: "${text}" is not a whole number from ${min} to ${max}.`);
}
