// A member of a consumer group that feeds the projection "counted", as a separate process that can be killed.
// node consumer-process.mjs <database> <brokers> <prefix>     Requires the build in dist/.
import { counted } from './counted.projection.mjs';

const [databaseUrl, brokers, prefix] = process.argv.slice(2);
const load = (path) => import(new URL(`../../dist/${path}.js`, import.meta.url));
const { ProjectionConsumer } = await load('kafka/projection-consumer');
const { ProjectionRunner } = await load('log/projections/projection-runner');
const { Postgres } = await load('postgres/postgres');
const { Logger } = await load('kernel/logger');
const { readSettings } = await load('kernel/settings/settings');

const settings = readSettings({ KAFKA_BROKERS: brokers, KAFKA_TOPIC_PREFIX: prefix, KAFKA_PARTITIONS: '3' });
const postgres = await Postgres.open({ databaseUrl, dataDir: '/tmp', onMessage: () => {} });
const runner = new ProjectionRunner(postgres, [counted]);
new ProjectionConsumer(postgres, settings, counted, runner, new Logger('silent')).start();
console.log('started');
