// One member of a consumer group, as a process of its own that can be killed: it feeds the projection "counted".
// node consumer-process.mjs <database> <brokers> <prefix>     Needs the build.
import { counted } from './counted.mjs';

const [databaseUrl, brokers, prefix] = process.argv.slice(2);
const from = (path) => import(new URL(`../../dist/${path}.js`, import.meta.url));
const { ConsumerSource } = await from('kafka/consumer-source');
const { ProjectionRunner } = await from('log/projection-runner');
const { Postgres } = await from('postgres/postgres');
const { Logger } = await from('kernel/logger');
const { readSettings } = await from('kernel/settings');

const settings = readSettings({ KAFKA_BROKERS: brokers, KAFKA_TOPIC_PREFIX: prefix, KAFKA_PARTITIONS: '3' });
const postgres = await Postgres.open({ databaseUrl, dataDir: '/tmp', onMessage: () => {} });
const runner = new ProjectionRunner(postgres, [counted]);
new ConsumerSource(postgres, settings, counted, runner, new Logger('silent')).start();
console.log('started');
