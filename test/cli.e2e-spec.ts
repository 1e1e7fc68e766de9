import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { allProjections } from '../src/app/projections.js';
import { runCli } from '../src/cli/run-cli.js';
import type { StoredEvent } from '../src/log/event.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { platformOf } from '../src/platforms/index.js';
import { PLATFORM_NAMES, type PlatformName, type TestCheck } from '../src/platforms/platform.js';
import { Postgres } from '../src/postgres/postgres.js';
import { findPostmaster } from '../src/postgres/postmaster.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { hashApiKey } from '../src/sites/keys/api-key.js';
import { Collector } from './support/collector.js';
import { type CommandResult, commandLine, splitWords, type Words } from './support/command-line.js';
import { temporaryFolder } from './support/folders.js';
import { eventually } from './support/waiting.js';

const checkout = join(import.meta.dirname, '..');
const root = temporaryFolder('cc-cli-');
const dataDir = join(root, 'data');
const environment = { PATH: process.env['PATH'] ?? '', DATA_DIR: dataDir };
const { run: cli, json, lines: printed } = commandLine(environment);
const lines = (command: string, ...words: Words) => printed<StoredEvent>(command, ...words);
const unreachableDatabase = { DATABASE_URL: 'postgres://user@127.0.0.1:1/database', SECRET_KEY: 'ab'.repeat(32) };

/** Settings of a site that is connected to all platforms, in test mode if the platform has one. */
const CONNECTIONS: Record<PlatformName, string[]> = {
  google_ads: ['customer_id=1234567890', 'client_id=c', 'client_secret=s', 'refresh_token=r', 'event.purchase=111'],
  meta: ['pixel_id=1234567890', 'access_token=a', 'test_event_code=TEST1'],
  tiktok: ['pixel_code=C0DE', 'access_token=a', 'test_event_code=TEST1'],
  microsoft_ads: ['tag_id=12345678', 'access_token=a', 'event.purchase=purchase'],
  ga4: ['measurement_id=G-TEST123456', 'api_secret=s', 'synthetic_client_id=yes'],
  segment: ['write_key=w'],
  linkedin: ['access_token=a', 'event.purchase=1001'],
  pinterest: ['ad_account_id=123456789012', 'access_token=a'],
  snapchat: ['pixel_id=7e5a1b2c-0000-4000-8000-000000000001', 'access_token=a'],
  reddit: ['pixel_id=t2_demo1', 'access_token=a', 'test_id=t2_test'],
  x: ['pixel_id=o8z6j', 'pixel_token=t', 'event.purchase=tw-o8z6j-o87ne'],
  webhook: ['url=https://receiver.example/conversions'],
};
const ADS = 'ads.example';

const children: ChildProcess[] = [];
let built: string;
let service: { process: ChildProcess; url: string; port: string };
let sandbox: RunningSandbox;

beforeAll(async () => {
  built = builtProduct();
  sandbox = await new Sandbox().start();
});

afterAll(async () => {
  await sandbox?.stop();
  for (const child of children) child.kill('SIGKILL');
  const postmaster = findPostmaster(join(dataDir, 'postgres'));
  if (postmaster !== undefined) process.kill(postmaster, 'SIGKILL');
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

describe('the command line without a service', () => {
  it('creates the database and leaves no process running', async () => {
    const { code, stdout, stderr } = await start('sites add Shop.Example --alias www.shop.example --json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: `Creating the database in ${join(dataDir, 'postgres')}\n` });
    expect(JSON.parse(stdout)).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      host: 'shop.example',
      aliases: ['www.shop.example'],
      inbound: false,
      createdAt: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
    });
    expect(findPostmaster(join(dataDir, 'postgres'))).toBeUndefined();
  });

  it('reports an unknown command in one line and exits with 2', async () => {
    expect(await start('sitez')).toEqual({
      code: 2,
      stdout: '',
      stderr: `Unknown command 'sitez'. Did you mean sites? "--help" shows the usage.\n`,
    });
  });

  const REPLAY = `replay deliveries --site ${ADS} --platform meta`;
  it.each([
    ['sites add', /^Missing required argument 'host'\. "sites add --help" shows/],
    ['sites add a.example b.example', /^Too many arguments/],
    ['sites list --jsno', /^Unknown option '--jsno'\. Did you mean --json\?/],
    ['sites set shop.example', /^Nothing to set: give at least one option\./],
    ['keys create --site shop.example', /^Required option '--name <label>'/],
    ['events tail --from yesterday', /Give a position such as 1017, or a time/],
    ['events tail --to 2025-02-30', /Give a position such as 1017, or a time/],
    ['events tail --last all', /Give a whole number/],
    ['events export --format xml', /Allowed choices are ndjson, csv, parquet/],
    ['events export --format parquet', /requires a file: give it with --out/],
    ['events export --format csv --json', /--json with --format csv requires a file/],
    ['events show --order ORD-1', /^Select a conversion with/],
    ['events show --order ORD-1 --conversion x', /cannot be used with/],
    ['platforms test meta', /^Required option '--site <host>'/],
    [REPLAY, /^Select conversions with --from <when> and --to <when>, or one with --conversion/],
    [`${REPLAY} --to 7`, /^Select conversions/],
    [`${REPLAY} --from 1 --to 7 --force`, /so it requires --conversion <id>/],
    [`${REPLAY} --from 1 --conversion x`, /cannot be used with/],
    [`${REPLAY} --from yesterday`, /Give a position such as 1017, or a time/],
    ['projections rebuild', /^Name one projection, or give --all\./],
    ['projections rebuild sites --all', /^Name one projection, or give --all\./],
  ])('reports what is wrong with "%s"', async (command, says) => {
    expect(await usageErrorOf(command)).toMatch(says);
  });

  it('prints help', async () => {
    const { code, stdout } = await cli('sites set --help');
    expect(code).toBe(0);
    expect(stdout).toMatch(/--dedup-window <duration>.*Example:\n {2}clean-conversions sites set shop\.example/s);
    expect(await cli('sites')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('add [options] <host>'),
    });
  });

  it('reports other errors in one line', async () => {
    expect(await cli('sites list', { DATABASE_URL: 'mysql://x' })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'DATABASE_URL: must begin with postgres://\n',
    });
    expect(await cli('sites list', unreachableDatabase)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^PostgreSQL cannot be reached: .*ECONNREFUSED.* Check DATABASE_URL.*\n$/),
    });
    expect((await cli('sites list', { DATA_DIR: '/dev/null/data' })).stderr).toMatch(
      /^\/dev\/null\/data\/secret-key cannot be used: .*ENOTDIR.* Set DATA_DIR to a folder that this user can write to\.\n$/,
    );
  });
});

describe('the command line with a running service', () => {
  let demoKey: string;

  beforeAll(async () => {
    service = await startService();
    demoKey = readFileSync(join(dataDir, 'demo-key'), 'utf8').trim();
  });

  describe('sites', () => {
    it('are listed with current data and shown by host or alias', async () => {
      const added = await json('sites add other.example');
      const list = await json('sites list');
      expect(list.map(({ host }: { host: string }) => host)).toEqual(['shop.example', 'localhost', 'other.example']);
      expect(list[2]).toEqual(added);
      expect(await json('sites show WWW.shop.example')).toEqual({
        ...list[0],
        settings: expect.objectContaining({ dedupWindow: '24h', botThreshold: 30, blocked: [] }),
      });
      expect((await json('sites show shop.example', { DEDUP_WINDOW: '90m' })).settings.dedupWindow).toBe('90m');
      expect((await cli('sites list')).stdout).toMatch(
        /^HOST +INBOUND +ALIASES +CREATED\nshop\.example +no +www\.shop/,
      );
    });

    it('cannot be added twice', async () => {
      expect(await errorOf('sites add www.shop.example')).toMatch(
        /^www\.shop\.example already belongs to site shop\.example\./,
      );
      expect(await errorOf('sites add https://shop.example/')).toMatch(/is not a host name/);
      expect(await errorOf('sites show no.example')).toBe(
        'There is no site no.example. Add it with "sites add no.example".\n',
      );
    });

    it('accept settings and return them', async () => {
      const options = [
        '--dedup-window 2h --bot-threshold 50 --bot-mode observe --consent-required yes --withhold everything',
        '--country de --origin a.example --origin b.example --block Jane@Example.com --block @spam.example',
        '--block-disposable yes --block-ip 10.0.0.0/8 --allow-ip 10.1.0.0/16 --block-ua curl --block-country FR',
        '--email-capture no --bot-filter none --strict-fields yes --identify-by any --currency eur',
      ].join(' ');
      const { settings } = await json(`sites set www.shop.example ${options}`);
      expect(settings).toEqual({
        dedupWindow: '2h',
        botThreshold: 50,
        botMode: 'observe',
        consentRequired: true,
        withhold: 'everything',
        country: 'DE',
        origins: ['a.example', 'b.example'],
        blocked: ['8c87b489ce35cf2e2f39f80e282cb2e804932a56a213983eeeb428407d43b52d', '@spam.example'],
        blockDisposable: true,
        blockIps: ['10.0.0.0/8'],
        allowIps: ['10.1.0.0/16'],
        blockUserAgents: ['curl'],
        blockCountries: ['FR'],
        emailCapture: false,
        strictFields: true,
        currency: 'EUR',
        identifyBy: 'any',
        botFilter: 'none',
      });
      const unset = '--unset dedup-window --unset origin --unset block=jane@example.com';
      expect((await json(`sites set shop.example ${unset}`)).settings).toEqual({
        ...settings,
        dedupWindow: '24h',
        origins: [],
        blocked: ['@spam.example'],
      });
      expect(await usageErrorOf('sites set shop.example --bot-mode off')).toMatch(
        /'off' is invalid\. Allowed choices are observe, enforce\./,
      );
      expect(await errorOf('sites set shop.example --currency euro')).toMatch(
        /"euro" is not an ISO 4217 currency code/,
      );
      expect(await errorOf('sites set shop.example --unset colour')).toMatch(/There is no setting "colour"/);
    });

    it('get another host later, which the service accepts until it, or the site, is removed', async () => {
      const track = 'track.late.example';
      const tagAt = (host: string, status: number) => eventually(() => statusOf(host, '/__cc/tag.js'), status);
      await json('sites add late.example');
      expect(await json(`sites set late.example --alias ${track} --alias x.late.example`)).toMatchObject({
        aliases: [track, 'x.late.example'],
      });
      await tagAt(track, 200);
      // Not even the alias is stored.
      expect(await errorOf('sites set late.example --alias y.late.example --dedup-window 99d')).toMatch(
        /^--dedup-window/,
      );
      expect((await json(`sites set ${track} --remove-alias ${track}`)).aliases).toEqual(['x.late.example']);
      await tagAt(track, 404);
      for (const verb of ['remove', 'pause', 'resume'])
        expect(await errorOf(`sites ${verb} x.late.example`)).toMatch(/is an alias\. Give .* late\.example\./);
      await json('webhook set --site late.example --url https://hooks.example/totals');
      expect(await json('sites remove late.example --yes')).toMatchObject({
        host: 'late.example',
        removed: true,
      });
      for (const verb of ['push', 'test'])
        expect(await errorOf(`webhook ${verb} --site late.example`)).toMatch(/was removed with the site/);
      for (const host of ['late.example', 'x.late.example']) await tagAt(host, 404);
      expect(JSON.stringify(await json('sites list'))).not.toContain('late.example');
      expect((await cli('events export --site late.example')).stdout).toContain('site.removed.v1');
      await json('sites add late.example');
      // The webhook is set anew: removing the site had disabled the one before.
      expect(await json('webhook set --site late.example --url https://hooks.example/totals')).toMatchObject({
        enabled: true,
        secret: expect.stringMatching(/^whsec_/),
      });
      await json('sites remove late.example --yes');
    });

    it('switch inbound on and off', async () => {
      expect(await json('inbound enable shop.example')).toMatchObject({ host: 'shop.example', inbound: true });
      expect(await json('sites pause shop.example')).toMatchObject({ host: 'shop.example', paused: true });
      expect((await cli('sites list')).stdout).toMatch(/shop\.example +paused/);
      expect((await json('sites resume shop.example')).paused).toBeUndefined();
      expect(await json('inbound disable www.shop.example')).toMatchObject({
        host: 'shop.example',
        inbound: false,
      });
      expect((await cli('inbound enable shop.example')).stdout).toMatch(/^host +shop\.example\n.*inbound +yes\n/s);
      expect(await errorOf('inbound enable no.example')).toMatch(/There is no site no\.example/);
    });
  });

  describe('keys', () => {
    it('are shown once, listed without the secret, and revoked', async () => {
      expect(await json('keys list --site other.example')).toEqual([]);
      expect((await cli('keys list --site other.example')).stderr).toMatch(/has no key yet/);
      const created = await json('keys create --site www.shop.example --name CRM --trial');
      expect(created).toEqual({
        id: expect.any(String),
        name: 'CRM',
        prefix: created.key.slice(0, 11),
        key: expect.stringMatching(/^cc_\w{49}$/),
        trial: true,
        createdAt: expect.any(String),
      });
      const { key: _, ...listed } = { ...created, lastUsedAt: null, status: 'active' };
      expect(await json('keys list --site shop.example')).toEqual([listed]);
      expect(await json(`keys revoke ${created.id} --site shop.example`)).toEqual({
        ...listed,
        status: 'revoked',
      });
      expect(await errorOf('keys revoke none --site shop.example')).toMatch(/has no key none\. "keys list/);
      const everything = (await cli('events export')).stdout;
      expect(everything).toContain('site.key_issued.v1');
      expect(everything).not.toContain(hashApiKey(created.key));
    });

    it('record when they were last used', async () => {
      const [before] = await json('keys list --site localhost');
      expect(before.lastUsedAt).toBeNull();
      await post({ email: 'jane@example.com', event: 'lead' });
      const [after] = await json('keys list --site localhost');
      const [event] = await lines('events tail --last 1');
      expect(after.lastUsedAt).toBe(event?.time);
    });
  });

  describe('a conversion', () => {
    const order = 'ORD "7", \r\n\u001b[31mred';
    let firstId: string;
    let duplicateId: string;

    beforeAll(async () => {
      const conversion = { email: 'jane@example.com', event: 'purchase', value: 10, currency: 'EUR', orderId: order };
      firstId = await post(conversion);
      duplicateId = await post({ ...conversion, value: 12.5 });
    });

    it('is shown by order id, with its duplicates', async () => {
      const history = await json('events show --order', order, '--site', '127.0.0.1');
      expect(history).toEqual({
        conversion: {
          conversionId: firstId,
          event: 'purchase',
          value: 10,
          currency: 'EUR',
          orderId: order,
          keyId: expect.any(String),
          trial: false,
          status: 'received',
          time: expect.any(String),
          key: { name: 'Demo', prefix: demoKey.slice(0, 11) },
        },
        match: null,
        consent: null,
        deliveries: [],
        events: [
          expect.objectContaining({ type: 'conversion.received.v1', stream: `conversion-${firstId}`, version: 1 }),
          expect.objectContaining({ type: 'conversion.deduplicated.v1', stream: `conversion-${duplicateId}` }),
        ],
      });
      expect(history.events[1].data).toMatchObject({ firstConversionId: firstId, differs: ['value'] });
      expect(Object.keys(history.events[0])).toEqual(
        'position id type stream version site time actor data personal'.split(' '),
      );
    });

    it('is shown by id', async () => {
      const duplicate = await json(`events show --conversion ${duplicateId}`);
      expect(duplicate.conversion).toMatchObject({ conversionId: duplicateId, status: 'deduplicated' });
      expect(duplicate.events).toHaveLength(1);
      const { stdout } = await cli(`events show --conversion ${firstId}`);
      expect(stdout).toMatch(
        /^Conversion .* of localhost: received\n {2}purchase, 10 EUR, order ORD "7".*\n {2}key Demo, cc_/,
      );
      expect(stdout).toMatch(/received from key:.*\n.*duplicate .* received from key:.*; value differed\n$/);
    });

    it('that does not exist is reported', async () => {
      expect(await errorOf('events show --order ORD-0 --site localhost')).toMatch(
        /^localhost has no conversion with order ORD-0\./,
      );
      expect(await errorOf('events show --conversion none')).toMatch(/^The log has no conversion none\./);
      expect(await errorOf(`events show --conversion ${firstId} --site shop.example`)).toMatch(/^shop\.example/);
    });

    it('is selected by order, type, site, position and time', async () => {
      const all = await lines('events export');
      const both = [firstId, duplicateId].map(
        (id) => all.find(({ stream }) => stream === `conversion-${id}`) as StoredEvent,
      );
      const [first, duplicate] = both as [StoredEvent, StoredEvent];
      expect(await lines('events tail --order', order)).toEqual(both);
      expect(await lines('events export --order', order, '--site', '[::1]')).toEqual(both);
      expect(await lines('events export --order', order, '--site', 'shop.example')).toEqual([]);
      expect(await lines('events tail --order', order, '--to', `${duplicate.position}`)).toEqual([first]);
      expect(await lines('events tail --type', first.type, '--type', duplicate.type, '--last', '2')).toEqual(both);
      expect(await lines('events export --site www.shop.example')).toEqual(
        all.filter(({ site }) => site === 'shop.example'),
      );
      expect(await lines(`events export --from ${first.position} --to ${duplicate.position}`)).toEqual([first]);
      expect(await lines('events export --from', first.time, '--to', duplicate.time)).toEqual(
        all.filter(({ time }) => time >= first.time && time < duplicate.time),
      );
      expect(await lines('events export --to 2001-01-01')).toEqual([]);
      expect(await errorOf('events tail --site no.example')).toMatch(/There is no site no\.example/);
    });

    it('cannot send control characters to the terminal', async () => {
      const { stdout } = await cli('events tail --order', order);
      expect(stdout.split('\n')).toHaveLength(3);
      expect(stdout).toContain('\\u001b[31mred');
      expect(stdout).not.toContain('\u001b');
    });

    it('is unchanged in a CSV export', async () => {
      const file = join(root, 'events.csv');
      const all = await lines('events export');
      const result = await json('events export --format csv --out', file);
      expect(result).toMatchObject({ file, format: 'csv', events: all.length });
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const [header, ...rows] = readCsv(readFileSync(file, 'utf8'));
      expect(header).toEqual('position id type stream version site time actor data personal'.split(' '));
      expect(rows.map(eventOfCells)).toEqual(all);
      expect((await cli('events export --format csv')).stdout).toBe(readFileSync(file, 'utf8'));
      expect((await cli('events export --out', join(root, 'events.ndjson'))).stdout).toMatch(
        /^Exported \d+ events to /,
      );
      expect(existsSync(join(root, 'events.ndjson.part'))).toBe(false);
      expect(await errorOf(`events export --out ${root}`)).toMatch(/is a folder/);
      expect(await errorOf('events export --out', join(root, 'no', 'file'))).toMatch(/cannot be written \(ENOENT\)/);
    });
  });

  describe('events tail', () => {
    it('shows the last 20 events, then new ones until Ctrl-C', async () => {
      const tail = spawnCli('events tail --follow --json --site localhost --type conversion.received.v1');
      const printed = createInterface({ input: tail.stdout })[Symbol.asyncIterator]();
      const first = await lines('events tail --site localhost --type conversion.received.v1');
      expect(await readEvents(printed, first.length)).toEqual(first);
      await cli('inbound disable other.example');
      const id = await post({ email: 'jane@example.com', event: 'signup', orderId: 'followed' });
      const [event] = await readEvents(printed, 1);
      expect(event).toMatchObject({ type: 'conversion.received.v1', data: { conversionId: id } });
      tail.kill('SIGINT');
      expect(await once(tail, 'exit')).toEqual([0, null]);
    });

    it('ends when no event before --to can follow', async () => {
      const [last] = await lines('events tail --last 1');
      const beyond = String((last as StoredEvent).position + 1);
      expect(await lines('events tail --follow --last 1 --to', beyond)).toEqual([last]);
    });

    it('ends without an error when its reader exits', async () => {
      const tail = spawnCli('events export');
      tail.stdout.destroy();
      let stderr = '';
      tail.stderr.on('data', (part) => {
        stderr += part;
      });
      expect(await once(tail, 'close')).toEqual([0, null]);
      expect(stderr).toBe('');
    });
  });

  it('exports a log of several pages without gaps', async () => {
    const postgres = await Postgres.open({ databaseUrl: undefined, dataDir, onMessage: () => {} });
    const log = new PostgresEventLog(postgres);
    const from = String((await log.head()) + 1);
    const events = Array.from({ length: 500 }, (_, n) => ({ type: 'test.counted.v1', data: { n } }));
    for (let page = 0; page < 9; page += 1) {
      const stream = `00000000-0000-7000-8000-00000000000${page}`;
      await log.append({
        category: 'test',
        stream,
        expected: 'new',
        site: 'other.example',
        actor: 'system',
        events: events as never,
      });
    }
    await log.close();
    await postgres.close();
    const counted = await lines('events export --site other.example --from', from);
    expect(counted).toHaveLength(4_500);
    expect(counted.map(({ position }) => position)).toEqual(
      counted.map((_, n) => (counted[0] as StoredEvent).position + n),
    );
    expect(await lines('events tail --site other.example --from', from, '--last', '3')).toEqual(counted.slice(-3));
  });

  describe('platforms', () => {
    let key: string;
    let trialKey: string;

    beforeAll(async () => {
      await json(`sites add ${ADS}`);
      await json(`inbound enable ${ADS}`);
      for (const platform of PLATFORM_NAMES) {
        const set = CONNECTIONS[platform].flatMap((setting) => ['--set', setting]);
        await json(`platforms connect ${platform} --site ${ADS}`, ...set, '--endpoint', `${sandbox.url}/${platform}`);
      }
      key = (await json(`keys create --site ${ADS} --name Shop`)).key;
      trialKey = (await json(`keys create --site ${ADS} --name Trial --trial`)).key;
      // Once the service knows the alias, it knows what was stored before.
      await json(`sites set ${ADS} --alias known.${ADS}`);
      await eventually(() => statusOf(`known.${ADS}`, '/__cc/tag.js'), 200);
      await json(`sites set ${ADS} --remove-alias known.${ADS}`);
    });

    it('receive nothing from a trial key, although everything is validated', async () => {
      const { id, results } = await buy('TRIAL-1', trialKey);
      expect(Object.keys(results)).toEqual(PLATFORM_NAMES);
      for (const result of Object.values(results))
        expect(result).toEqual({ ok: true, status: 'validated', trial: true });
      expect(await ledger()).toEqual({ recent: [] });
      const { conversion, deliveries } = await json(`events show --conversion ${id}`);
      expect(conversion).toMatchObject({ trial: true, key: { name: 'Trial' } });
      for (const { status, payload } of deliveries)
        expect([status, payload]).toEqual(['validated', expect.any(Object)]);
      for (const range of ['--from 1', `--conversion ${id}`, `--conversion ${id} --force`])
        expect(await replay('meta', range)).toEqual({ requested: 0, byStatus: { validated: 1 }, dryRun: false });
      expect((await cli(replayOf('meta', `--conversion ${id}`))).stderr).toMatch(/^It was received with a trial key/);
    });

    it('are tested in their own test mode', async () => {
      const counted = (...checked: TestCheck[]) => ({ status: 'delivered', sent: true, result: 'accepted', checked });
      const unsent = (platform: PlatformName, ...checked: TestCheck[]) => {
        return {
          status: 'validated',
          sent: false,
          result: 'not_sent',
          checked,
          reason: platformOf(platform)?.untested,
        };
      };
      const expected: Record<PlatformName, object> = {
        google_ads: { ...counted('credentials', 'payload', 'account'), status: 'accepted' },
        meta: counted('payload', 'credentials', 'pixel'),
        tiktok: counted('payload', 'credentials', 'pixel'),
        microsoft_ads: unsent('microsoft_ads', 'credentials'),
        ga4: unsent('ga4', 'payload'),
        segment: unsent('segment'),
        linkedin: unsent('linkedin', 'credentials'),
        pinterest: counted('payload', 'credentials', 'account'),
        snapchat: counted('payload', 'credentials', 'pixel'),
        reddit: counted('payload', 'credentials', 'pixel'),
        x: unsent('x'),
        webhook: counted('address'),
      };
      for (const platform of PLATFORM_NAMES) {
        expect(await json(`platforms test ${platform} --site ${ADS}`)).toEqual({
          platform,
          ok: true,
          ...expected[platform],
        });
      }
      expect((await cli(`platforms test meta --site ${ADS}`)).stdout).toMatch(
        /^platform +meta\nok +yes\nstatus +delivered\nsent +yes\nresult +accepted\nchecked +payload, credentials, pixel\n$/,
      );
    });

    it('that fail the test report the reason and the next step', async () => {
      const test = `platforms test pinterest --site ${ADS}`;
      await behave('pinterest', 'unauthorized', { times: 2, call: 'test' });
      const { code, stdout } = await cli(test, '--json');
      expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 1, ok: false, status: 'unauthorized' });
      expect((await cli(test)).stderr).toBe(
        'Set new credentials with "platforms connect pinterest --site ads.example --set <name>=<value>".\n',
      );
      const connect = `platforms connect pinterest --site ${ADS} --endpoint`;
      await json(`${connect} http://127.0.0.1:1`);
      const unreachable = await start(test);
      expect(unreachable).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^"platforms list --site ads\.example"/),
      });
      expect(unreachable.stdout).toMatch(
        /ok +no\nstatus +failed\nsent +no\nresult +refused\nchecked +\S*\nreason +127\.0\.0\.1:1 refused the connection: .+ \(ECONNREFUSED\)\.\n$/,
      );
      await json(`${connect} ${sandbox.url}/pinterest`);
      expect(await errorOf(`platforms test myspace --site ${ADS}`)).toMatch(/^There is no platform "myspace"/);
      expect(await errorOf('platforms test meta --site other.example')).toMatch(
        /^meta is not connected to other\.example\. Connect it with/,
      );
      expect(await errorOf(test, { SECRET_KEY: 'cd'.repeat(32) })).toMatch(
        /^SECRET_KEY is not the key that this database was first used with\./m,
      );
    });

    it('that rotate refresh tokens keep the newest one', async () => {
      const account = ['customer_id=250000001', 'account_id=180000001', 'event.purchase=Signed contract'];
      const offline = ['developer_token=d', 'client_id=c', 'client_secret=s', ...account];
      const set = ['mode=offline', 'refresh_token=first', ...offline];
      const endpoint = `${sandbox.url}/microsoft_ads@offline`;
      const settings = set.flatMap((setting) => ['--set', setting]);
      await json('platforms connect microsoft_ads --site other.example', ...settings, '--endpoint', endpoint);
      // The sandbox accepts each refresh token once.
      for (const _ of [1, 2, 3]) {
        const tested = await json('platforms test microsoft_ads --site other.example');
        expect(tested).toMatchObject({ ok: true, result: 'not_sent', checked: ['credentials', 'account', 'events'] });
      }
      await json('platforms disconnect microsoft_ads --site other.example');
    });

    it('show every attempt, and receive rejected conversions again but never accepted ones', async () => {
      await behave('meta', 'refuse', { times: 1 });
      const { id, results } = await buy('ORD-1', key);
      expect(results['meta']).toEqual({ ok: false, status: 'failed', reason: expect.any(String) });
      expect(results['tiktok']).toEqual({ ok: true, status: 'delivered' });

      const failed = await json(`events show --order ORD-1 --site ${ADS}`);
      expect(Object.keys(failed)).toEqual(['conversion', 'match', 'consent', 'deliveries', 'events']);
      expect(failed.deliveries.map(({ platform }: { platform: string }) => platform)).toEqual(PLATFORM_NAMES);
      const attempt = { attempt: 1, status: 'failed', httpStatus: 400, reason: results['meta']?.reason };
      expect(failed.deliveries[1]).toMatchObject({ platform: 'meta', status: 'failed', attempts: [attempt] });
      expect(failed.deliveries[1]).toMatchObject({ payloadIsExact: true, payload: { event_id: 'ORD-1' } });

      const { position } = failed.events[0];
      const range = `--from ${position} --to ${position + 1}`;
      const [before] = await lines('events tail --last 1');
      expect(await replay('meta', `${range} --dry-run`)).toEqual({
        requested: 1,
        byStatus: { failed: 1 },
        dryRun: true,
      });
      expect(await replay('meta', `--from ${position + 1}`)).toEqual({
        requested: 0,
        byStatus: {},
        dryRun: false,
      });
      expect(await replay('meta', `--from 1 --to ${position}`)).toMatchObject({ requested: 0 });
      expect(await replay('tiktok', range)).toEqual({ requested: 0, byStatus: { delivered: 1 }, dryRun: false });
      expect(await lines('events tail --last 1')).toEqual([before]);

      expect(await replay('meta', range)).toEqual({ requested: 1, byStatus: { failed: 1 }, dryRun: false });
      const { deliveries } = await delivered('ORD-1', 'meta');
      expect(deliveries[1].attempts).toMatchObject([attempt, { attempt: 2, status: 'delivered', httpStatus: 200 }]);
      expect(deliveries[1].attempts[1].bodySha256).toBe(deliveries[1].attempts[0].bodySha256);
      expect(await replay('meta', range)).toEqual({ requested: 0, byStatus: { delivered: 1 }, dryRun: false });
      const again = await cli(replayOf('meta', `--conversion ${id.toUpperCase()}`));
      expect(again).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/^meta has accepted it\. --force sends it/),
      });
      expect(again.stdout).toBe('STATUS     CONVERSIONS\ndelivered  1\n0 of 1 are being sent to meta.\n');
      expect(await receivedEvents('meta')).toMatchObject({
        'ORD-1': { times: 1, refused: 1, bodies: [expect.any(String)] },
      });

      for (const eventId of ['ORD-1-r2', 'ORD-1-r3']) {
        expect(await replay('meta', `--conversion ${id} --force`)).toMatchObject({ requested: 1 });
        await eventually(
          () => receivedEvents('meta'),
          (events) => events[eventId]?.times === 1,
        );
        await delivered('ORD-1', 'meta');
      }
      expect(Object.values(await receivedEvents('meta')).filter(({ times }) => times !== 1)).toEqual([]);
      expect((await receivedEvents('tiktok'))['ORD-1']).toMatchObject({ times: 1, refused: 0 });

      const { stdout } = await cli(`events show --order ORD-1 --site ${ADS}`);
      expect(stdout).toMatch(/^Conversion .*\n.*order ORD-1\n {2}key Shop, cc_\w+…\n\n.* {2}received from key:/);
      expect(stdout).toMatch(/cli:\S+ requested delivery to meta\n.*cli:\S+ requested delivery to meta as ORD-1-r2\n/);
      expect(stdout).toMatch(
        /\nmeta: delivered\n.*attempt 1: refused, .+, HTTP 400, \d+ ms.*\n.*attempt 2: delivered, HTTP 200/,
      );
      expect(stdout).toMatch(/as ORD-1-r3.*\n {2}payload:\n {4}{\n[^}]* {6}"event_id": "ORD-1-r3"/);
    });

    it('show beforehand what they would get', async () => {
      const { id } = await buy('PREVIEW', key);
      const preview = (platform: string, options = '') =>
        `platforms preview ${platform} --site ${ADS} ${options}`.trim();
      const fields = '--set field.user.plan="gold" --set field.order=orderId';
      expect(await json(preview('meta', `--order PREVIEW ${fields}`))).toMatchObject({
        ...{ platform: 'meta', conversionId: id, status: 'sent' },
        payload: { event_id: 'PREVIEW', custom_data: { user: { plan: 'gold' }, order: 'PREVIEW' } },
      });
      expect(await json(preview('x', `--conversion ${id} --set events=lead`))).toEqual({
        ...{ platform: 'x', conversionId: id, status: 'skipped', reason: 'event_not_selected' },
      });
      expect((await cli(preview('meta', '--order PREVIEW'))).stdout).toMatch(/^platform +meta\n[^{]*\n{\n {2}"event/);
      expect(await json(`events show --order PREVIEW --site ${ADS}`)).toMatchObject({
        deliveries: expect.arrayContaining([expect.objectContaining({ platform: 'x', status: 'delivered' })]),
      });
      expect(await json(preview('meta', '--sample --set field.order=orderId'))).toMatchObject({
        ...{ platform: 'meta', sample: true, status: 'sent' },
        payload: { event_name: 'Purchase', custom_data: { order: 'ORD-1', value: 129.9, currency: 'EUR' } },
      });
      expect(await usageErrorOf(preview('meta'))).toMatch(/^Select a conversion with --order/);
      expect(await errorOf(preview('meta', '--order PREVIEW --set field.a=email'))).toMatch(/must be one of/);
    });

    it('receive skipped conversions again with the current settings', async () => {
      const connect = `platforms connect x --site ${ADS} --set`;
      await json(`${connect} events=lead`);
      await eventually(
        () => buy(`SKIP-${Date.now()}`, key),
        ({ results }) => results['x']?.status === 'skipped',
      );
      const { id, results } = await buy('SKIP', key);
      expect(results['x']).toEqual({ ok: false, status: 'skipped', reason: 'event_not_selected' });
      expect((await json(`events show --conversion ${id}`)).deliveries[10]).not.toHaveProperty('payload');
      await json(`${connect} events=`);
      expect(await replay('x', `--conversion ${id}`)).toEqual({
        requested: 1,
        byStatus: { skipped: 1 },
        dryRun: false,
      });
      const { deliveries } = await delivered('SKIP', 'x');
      expect(deliveries[10]).toMatchObject({ payloadIsExact: true, payload: { conversion_id: 'SKIP' } });
    });

    it('that reject the credentials are reported by doctor, and receive queued conversions later', async () => {
      await behave('meta', 'unauthorized', { times: 1 });
      const { id, results } = await buy('QUEUED', key);
      expect(results['meta']).toEqual({ ok: false, status: 'queued', reason: 'authorization' });
      const { code, stdout } = await eventually(
        () => cli('doctor'),
        ({ stdout }) => stdout.includes('is parked') && stdout.includes('1 queued'),
      );
      expect(code).toBe(0);
      expect(stdout).toMatch(
        /\nok {4}deliveries +1 queued, the oldest is due \S+Z; meta of ads\.example is parked \(.+\)\n/,
      );
      expect(stdout).toMatch(/→ Fix what the platform refuses: "platforms list --site ads\.example" tells how/);
      const queued = await cli(replayOf('meta', `--conversion ${id}`));
      expect(queued.stderr).toBe('It is queued, and the service sends it at its next attempt.\n');
      expect((await cli(`platforms test meta --site ${ADS}`)).stderr).toBe(
        'It is parked: "platforms resume meta --site ads.example" sends the queued conversions.\n',
      );
      await json(`platforms pause meta --site ${ADS}`);
      const forced = await cli(replayOf('meta', `--conversion ${id} --force`));
      expect(forced.stderr).toBe('meta is paused: they are queued until "platforms resume meta --site ads.example".\n');
      await json(`platforms resume meta --site ${ADS}`);
      await delivered('QUEUED', 'meta');
      expect(await receivedEvents('meta')).toMatchObject({ 'QUEUED-r2': { times: 1 } });
    });

    it('receive nothing more after an interruption', async () => {
      const [stdout, stderr] = [new Collector(), new Collector()];
      const stop = AbortSignal.abort();
      expect(await runCli(replayOf('meta', '--from 1').split(' '), { env: environment, stdout, stderr, stop })).toBe(
        130,
      );
      expect([stdout.text, stderr.text]).toEqual([
        '',
        expect.stringMatching(/^Interrupted before all conversions were checked\./),
      ]);
    });

    it('receive no duplicates and no conversions of other sites', async () => {
      const duplicate = await buy('ORD-1', key);
      expect(await errorOf(replayOf('meta', `--conversion ${duplicate.id}`))).toMatch(
        /^Conversion \S+ was deduplicated, so it is not sent\. "events show --conversion /,
      );
      expect(await errorOf(replayOf('meta', '--conversion none'))).toMatch(/^ads\.example has no conversion none\./);
      const elsewhere = 'replay deliveries --site other.example --platform meta --from 1';
      expect(await errorOf(elsewhere)).toMatch(/^meta is not connected to other\.example/);
    });

    function delivered(order: string, platform: PlatformName) {
      return eventually(
        () => json('events show --order', order, '--site', ADS),
        ({ deliveries }) => deliveries[PLATFORM_NAMES.indexOf(platform)].status === 'delivered',
      );
    }
  });

  describe('projections', () => {
    const names = allProjections(undefined as never).map(({ name }) => name);

    it('have the same rows after a rebuild of one or all of them', async () => {
      const before = [await json('sites list'), await json('keys list --site localhost')];
      const { code, stdout, stderr } = await cli('projections rebuild --all --json');
      expect({ code, stderr }).toEqual({ code: 0, stderr: names.map((name) => `Rebuilt ${name}.\n`).join('') });
      const [last] = await lines('events tail --last 1');
      const { position } = last as StoredEvent;
      const current = names.map((name) => ({ name, position, head: position, lag: 0, state: 'running' }));
      expect(JSON.parse(stdout)).toEqual(current);
      expect([await json('sites list'), await json('keys list --site localhost')]).toEqual(before);
      expect(await json('projections rebuild sites')).toEqual(current);
      expect((await cli('projections status')).stdout).toMatch(/^NAME +STATE +POSITION +HEAD +LAG/);
      expect(await errorOf('projections rebuild nothing')).toMatch(
        /^Unknown projection "nothing"\. Projections: sites/,
      );
    });
  });

  describe('doctor', () => {
    it('passes all checks and finds the service ready', async () => {
      const { code, stdout } = await start('doctor --json', { PORT: service.port });
      const { ok, checks } = JSON.parse(stdout);
      expect(checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([]);
      expect({ code, ok }).toEqual({ code: 0, ok: true });
      expect(checks.map(({ name }: { name: string }) => name)).toEqual(
        'node,settings,database,durability,standby,schema,append-only,partitions,checkpoints,claims,projections,deliveries,owed,webhooks,attention,kafka,cells,retention,clock,erasures,disk,secret files,service'.split(
          ',',
        ),
      );
      expect(checks.at(-1).detail).toBe(`ready on 127.0.0.1:${service.port}`);
    });

    it('reports failed checks and their fix', async () => {
      const postgres = await Postgres.open({ databaseUrl: undefined, dataDir, onMessage: () => {} });
      chmodSync(join(dataDir, 'demo-key'), 0o644);
      const owner = await postgres.connectAsOwner('test');
      await owner.query(`UPDATE cc.projections SET parked = true, reason = 'event 7' WHERE name = 'auth_failures'`);
      await owner.query('ALTER TABLE cc.events_0 DISABLE TRIGGER append_only');
      const { code, stdout } = await cli('doctor');
      await owner.query(`UPDATE cc.projections SET parked = false, reason = NULL`);
      await owner.query('ALTER TABLE cc.events_0 ENABLE TRIGGER append_only');
      await owner.end();
      await postgres.close();
      chmodSync(join(dataDir, 'demo-key'), 0o600);
      expect(code).toBe(1);
      expect(stdout).toMatch(
        /FAIL {2}append-only.*cc\.events_0\n.*ALTER TABLE cc\.events_0 ENABLE TRIGGER append_only;/,
      );
      expect(stdout).toMatch(
        /FAIL {2}projections +auth_failures is parked: event 7\n.*"projections rebuild auth_failures"/,
      );
      expect(stdout).toMatch(/FAIL {2}secret files.*demo-key\n.*chmod 600 /);
      expect(stdout.match(/FAIL/g)).toHaveLength(3);
    });

    it('reports a missing database and invalid settings', async () => {
      const { code, stdout } = await cli('doctor --json', { ...unreachableDatabase, PORT: service.port });
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toEqual({
        ok: false,
        checks: [
          expect.objectContaining({ name: 'node', ok: true }),
          expect.objectContaining({ name: 'settings', ok: true }),
          expect.objectContaining({ name: 'database', ok: false, detail: expect.stringContaining('ECONNREFUSED') }),
          expect.objectContaining({ name: 'service', ok: true }),
        ],
      });
      const unset = await cli('doctor --json', { PORT: 'http' });
      expect(unset.code).toBe(1);
      expect(JSON.parse(unset.stdout).checks.at(-1)).toMatchObject({
        name: 'settings',
        ok: false,
        fix: expect.any(String),
      });
    });
  });

  it('does not affect the service, which exits with 0 on SIGTERM', async () => {
    service.process.kill('SIGTERM');
    expect(await once(service.process, 'exit')).toEqual([0, null]);
  });

  async function post(conversion: object): Promise<string> {
    return (await postTo('localhost', demoKey, conversion)).id;
  }
});

describe('the command line after the service has stopped', () => {
  it('reads all data and reports that the service is not running', async () => {
    const { code, stdout } = await start('doctor --json', { PORT: service.port });
    const { checks } = JSON.parse(stdout);
    expect(code).toBe(0);
    expect(checks.at(-1)).toEqual({ name: 'service', ok: true, detail: `not running on 127.0.0.1:${service.port}` });
    expect(await json('sites list')).toHaveLength(4);
    expect(await json(`platforms test meta --site ${ADS}`)).toMatchObject({ ok: true, sent: true });
    const { conversion } = await json(`events show --order ORD-1 --site ${ADS}`);
    const force = replayOf('meta', `--conversion ${conversion.conversionId} --force`);
    expect((await cli(force)).stderr).toMatch(/otherwise the service sends them when it starts\.\n$/);
    expect(await replay('meta', `--conversion ${conversion.conversionId}`)).toMatchObject({ byStatus: { queued: 1 } });
    expect(findPostmaster(join(dataDir, 'postgres'))).toBeUndefined();
  });
});

/** Runs in a separate process, as operators do. */
async function start(command: string, ...words: Words): Promise<CommandResult> {
  const { argv, env } = splitWords(command, words);
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(built, 'cli.js'), ...argv],
      { env: { ...environment, ...env } },
      (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
      },
    );
  });
}

async function errorOf(command: string, ...words: Words): Promise<string> {
  const { code, stdout, stderr } = await cli(command, ...words);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^[^\n]+\n$/);
  return stderr;
}

async function usageErrorOf(command: string, ...words: Words): Promise<string> {
  const { code, stdout, stderr } = await cli(command, ...words);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/^[^\n]+\n$/);
  return stderr;
}

interface Posted {
  id: string;
  results: Partial<Record<PlatformName, { ok: boolean; status: string; reason?: string; trial?: true }>>;
}

/** Uses node:http, because fetch does not allow a custom Host header. */
function statusOf(host: string, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(`${service.url}${path}`, { headers: { Host: host } }, (reply) => {
      reply.resume();
      resolve(reply.statusCode);
    });
    sent.on('error', reject).end();
  });
}

/** Uses node:http, because fetch does not allow a custom Host header. */
async function postTo(host: string, key: string, conversion: object): Promise<Posted> {
  const headers = { Host: host, 'X-CC-Api-Key': key, 'Content-Type': 'application/json' };
  const [status, id, body] = await new Promise<[number | undefined, string, string]>((resolve, reject) => {
    const sent = request(`${service.url}/__cc/inbound`, { method: 'POST', headers }, async (reply) => {
      let text = '';
      for await (const chunk of reply) text += chunk;
      resolve([reply.statusCode, String(reply.headers['x-cc-conversion-id']), text]);
    });
    sent.on('error', reject).end(JSON.stringify(conversion));
  });
  expect([status, body]).toEqual([200, expect.any(String)]);
  return { id, results: JSON.parse(body).results };
}

/** A purchase on the site that is connected to all platforms. */
function buy(orderId: string, key: string): Promise<Posted> {
  const conversion = { email: 'jane@example.com', event: 'purchase', value: 10, currency: 'EUR', orderId };
  return postTo(ADS, key, conversion);
}

function replayOf(platform: PlatformName, options: string): string {
  return `replay deliveries --site ${ADS} --platform ${platform} ${options}`;
}

function replay(platform: PlatformName, options: string) {
  return json(replayOf(platform, options));
}

async function behave(platform: PlatformName, mode: string, more: object): Promise<void> {
  const reply = await fetch(`${sandbox.url}/behave`, {
    method: 'POST',
    body: JSON.stringify({ platform, mode, ...more }),
  });
  expect(reply.status).toBe(200);
}

async function ledger() {
  return JSON.parse(await (await fetch(`${sandbox.url}/ledger`)).text());
}

/** The conversions that the sandbox received, by event id. */
async function receivedEvents(platform: PlatformName): Promise<Record<string, { times: number; refused: number }>> {
  return (await ledger())[platform].default.events;
}

function spawnCli(command: string) {
  const child = spawn(process.execPath, [join(built, 'cli.js'), ...command.split(' ')], { env: environment });
  children.push(child);
  return child;
}

async function startService() {
  const child = spawn(process.execPath, [join(built, 'main.js')], {
    env: { ...environment, PORT: '0', ADMIN_PORT: 'off', DEMO_PLATFORMS: 'false' },
  });
  children.push(child);
  let stderr = '';
  child.stderr.on('data', (part) => {
    stderr += part;
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /listens on (http:\S+)/.exec(line)?.[1];
    if (url) return { process: child, url, port: new URL(url).port };
  }
  throw new Error(`The service did not start: ${stderr}`);
}

async function readEvents(lines: AsyncIterator<string>, count: number): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  while (events.length < count) events.push(JSON.parse((await lines.next()).value));
  return events;
}

/** Parses RFC 4180. */
function readCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, bare, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    row.push(quoted?.replaceAll('""', '"') ?? bare ?? '');
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

function eventOfCells([position, id, type, stream, version, site, time, actor, data, personal]: string[]) {
  const parsed = { data: JSON.parse(data as string), personal: JSON.parse(personal || 'null') };
  return { position: Number(position), id, type, stream, version: Number(version), site, time, actor, ...parsed };
}

/** `npm test` has built it already; a run of this file alone builds it now. */
function builtProduct(): string {
  execFileSync(process.execPath, [join(checkout, 'scripts/prepare.mjs')]);
  return join(checkout, 'dist');
}
