import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf, UserError } from '../kernel/errors.js';
import { startBrokers } from './broker.js';

const HELP = `npm run kafka [-- options]

  --nodes <n>      how many brokers (default 1; 3 make a cluster that survives the loss of one)
  --port <port>    of the first one, the others follow (default 9092; 0 takes any that are free)
  --data <folder>  where their data lie (default .data/kafka)

A real Apache Kafka on this machine, for trying things and for tests. Needs Java 17 and, the first time, Maven. Ctrl-C stops it.
`;

try {
  await main();
} catch (error) {
  const known = error instanceof UserError || (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS');
  process.stderr.write(`${known ? messageOf(error) : ((error as Error).stack ?? messageOf(error))}\n`);
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
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const nodes = wholeNumber('--nodes', values.nodes, 1, 9);
  const port = wholeNumber('--port', values.port, 0, 65_535);
  say(`Starting ${nodes === 1 ? 'a broker' : `${nodes} brokers`} …`);
  const cluster = await startBrokers({ dataDir: resolve(values.data), nodes, port, say });
  process.stdout.write(
    `Kafka is ready on ${cluster.brokers}. Start the service with KAFKA_BROKERS=${cluster.brokers}. Stop: Ctrl-C\n`,
  );
  let stopping = false;
  const stop = async () => {
    if (stopping) return;
    stopping = true;
    await cluster.stop();
    process.exit(0);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stop());
  await Promise.race(cluster.nodes.map(({ gone }) => gone));
  if (!stopping) {
    await cluster.stop();
    throw new UserError(`A broker ended by itself: its log is in ${resolve(values.data)}, in the file broker.log.`);
  }
  // It is being stopped: the handler ends the process once all of them are gone.
  await new Promise(() => {});
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= least && number <= most) return number;
  throw new UserError(`${name}: "${text}" is not a whole number from ${least} to ${most}.`);
}
