import { commandLine } from './support/command-line.js';
import { createDatabase } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';
import { SECRET_KEY } from './support/secret-key.js';
import { openOperator } from './support/service.js';
import { spawnService } from './support/service-process.js';
import { eventually } from './support/waiting.js';
import { answerWith, startReceiver } from './support/webhook-receiver.js';

const databaseUrl = await createDatabase();
const operator = await openOperator(databaseUrl);
const receiver = await startReceiver();
const environment = { DATABASE_URL: databaseUrl, SECRET_KEY, OUTBOUND_ALLOW_PRIVATE: 'true' };
const cli = commandLine(environment);
afterAll(async () => {
  await operator.close();
  await receiver.stop();
});

const start = () => spawnService(temporaryFolder('cc-alerts-'), environment);

it('sends an alert again, with the same id, that was under way when the service was killed, and tells its end once', async () => {
  const { host } = await operator.openSite();
  await operator.connect(host, 'meta', { pixel_id: '1', access_token: 'a' }, 'http://127.0.0.1:1');
  await cli.json('platforms pause meta --site', host);
  await cli.json(`alerts add webhook ${receiver.url}/alerts --kind connection_paused --site`, host);
  const types = () => receiver.calls.map(({ body }) => JSON.parse(body).type);
  // The receiver does not answer: the message is stored and under way.
  receiver.answer = () => {};
  const killed = await start();
  await eventually(async () => types(), ['alert.started'], { withinMs: 240_000 });
  await killed.end('SIGKILL');

  receiver.answer = answerWith(200);
  const [first, second] = [await start(), await start()];
  await eventually(
    async () => types(),
    (sent) => sent.length === 2,
    { withinMs: 240_000 },
  );
  await cli.json('platforms resume meta --site', host);
  await eventually(
    async () => types(),
    (sent) => sent.length === 3,
    { withinMs: 240_000 },
  );
  expect(types()).toEqual(['alert.started', 'alert.started', 'alert.ended']);
  const [one, again] = receiver.calls;
  expect(again?.headers['webhook-id']).toBe(one?.headers['webhook-id']);
  expect(again?.body).toBe(one?.body);
  expect([await first.end('SIGTERM'), await second.end('SIGTERM')]).toEqual([0, 0]);
  expect(types()).toHaveLength(3);
});
