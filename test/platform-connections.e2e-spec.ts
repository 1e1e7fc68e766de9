import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { jest } from '@jest/globals';
import { type RunningService, startService } from '../src/app/service.js';
import { runCli } from '../src/cli/run-cli.js';
import type { CommandDispatcher } from '../src/kernel/command.js';
import { UserError } from '../src/kernel/errors.js';
import { Sealer } from '../src/kernel/sealing.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import type { StoredEvent } from '../src/log/event.js';
import type { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { PLATFORMS } from '../src/platforms/index.js';
import { PLATFORM_NAMES } from '../src/platforms/platform.js';
import { platform as segment } from '../src/platforms/segment/index.js';
import type { Postgres } from '../src/postgres/postgres.js';
import { ConnectPlatform, ParkConnection } from '../src/sites/connections/connection.commands.js';
import { siteCommandDispatcher } from '../src/sites/site-command-handlers.js';
import { type LoadedSite, SiteDirectory } from '../src/sites/site-directory.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { captureLog } from './support/captured-log.js';
import { Collector } from './support/collector.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';

const SITE = 'shop.example';
const TOKEN = 'token-that-must-stay-secret';
const [keyA, keyB] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];

let databaseUrl: string;
let environment: Record<string, string>;
let postgres: Postgres;
let log: EventLog;
let secrets: SiteSecrets;
let sites: SiteRepository;
let commands: CommandDispatcher;
const running: RunningService[] = [];

const dataDir = temporaryFolder('cc-connections-');

afterAll(async () => {
  rmSync(dataDir, { recursive: true });
});

beforeEach(async () => {
  databaseUrl = await createDatabase();
  environment = { PATH: process.env['PATH'] ?? '', DATABASE_URL: databaseUrl, SECRET_KEY: keyA, DATA_DIR: dataDir };
  postgres = await openDatabase(databaseUrl);
  log = new PostgresEventLog(postgres);
  secrets = new SiteSecrets(postgres.pool, new Sealer(Buffer.from(keyA, 'hex')));
  sites = new SiteRepository(log);
  commands = siteCommandDispatcher(sites, secrets);
  await json('sites', 'add', SITE, '--alias', 'www.shop.example');
});
afterEach(async () => {
  for (const { app } of running.splice(0)) await app.close();
  await log.close();
  await postgres.close();
});

describe('platforms list', () => {
  it('lists all platforms with their fields', async () => {
    const list = await json('platforms', 'list');
    expect(list.map(({ platform }: { platform: string }) => platform)).toEqual(PLATFORM_NAMES);
    for (const [at, { fields }] of PLATFORMS.entries()) {
      expect(list[at].fields).toEqual(
        fields.map(({ name, secret, required }) => ({ name, secret: secret ?? false, required: required ?? false })),
      );
    }
    const { stdout } = await cli('platforms', 'list');
    expect(stdout).toMatch(/^PLATFORM +REQUIRED +OPTIONAL\ngoogle_ads /);
    expect(stdout).toMatch(/\nmeta +pixel_id, access_token \(secret\) +test_event_code/);
  });

  it('lists the connections of a site without secrets', async () => {
    await connectMeta('--set', 'events=purchase,lead');
    const list = await json('platforms', 'list', '--site', 'www.shop.example');
    expect(list).toHaveLength(PLATFORM_NAMES.length);
    expect(list[1]).toEqual({
      platform: 'meta',
      connected: true,
      state: 'active',
      settings: { pixel_id: '123', events: 'purchase,lead' },
      endpoint: 'https://graph.facebook.com',
      secrets: ['access_token'],
      since: expect.any(String),
      fields: expect.arrayContaining([{ name: 'access_token', secret: true, required: true }]),
    });
    expect(list[2]).toEqual({ platform: 'tiktok', connected: false, settings: {}, fields: expect.any(Array) });
    const { stdout } = await cli('platforms', 'list', '--site', SITE);
    expect(stdout).toMatch(/^PLATFORM +STATE +SINCE +REASON +SETTINGS +ENDPOINT +SECRETS\n/);
    expect(stdout).toMatch(
      /\nmeta +active +\S+Z +- +pixel_id=123, events=purchase,lead +https:\/\/graph\.facebook\.com +access_token\n/,
    );
  });
});

describe('connection', () => {
  it('can be connected, changed, paused, parked, fixed and disconnected', async () => {
    expect(await connectMeta('--endpoint', 'http://127.0.0.1:9/meta/')).toEqual({
      platform: 'meta',
      connected: true,
      state: 'active',
      settings: { pixel_id: '123', access_token: true },
      endpoint: 'http://127.0.0.1:9/meta',
      since: expect.any(String),
    });

    // Only the named settings change.
    const changed = await json('platforms', 'connect', 'meta', '--site', SITE, '--set', 'event.signup=Lead');
    expect(changed.settings).toEqual({ pixel_id: '123', 'event.signup': 'Lead', access_token: true });
    expect(changed.endpoint).toBe('http://127.0.0.1:9/meta');
    const cleared = ['--set', 'event.signup=', '--endpoint', ''];
    const back = await json('platforms', 'connect', 'meta', '--site', SITE, ...cleared);
    expect(back).toMatchObject({ settings: { pixel_id: '123', access_token: true } });
    expect(back.endpoint).toBeUndefined();
    expect(await secrets.connectionSecrets(SITE, 'meta')).toEqual({ access_token: TOKEN });

    // An operator's pause is not ended by a change or by an answer of the platform.
    expect(await json('platforms', 'pause', 'meta', '--site', SITE)).toMatchObject({ state: 'paused' });
    await commands.execute(new ParkConnection('system', SITE, 'meta', 'HTTP 401'));
    expect((await connectMeta('--set', 'pixel_id=456')).state).toBe('paused');
    expect((await cli('platforms', 'connect', 'meta', '--site', SITE)).stderr).toBe(
      'It is paused: "platforms resume meta --site shop.example" resumes sending.\n',
    );
    expect(await json('platforms', 'resume', 'meta', '--site', SITE)).toMatchObject({ state: 'active' });

    // Concurrent failures park it once; a new token reactivates it.
    await Promise.all([1, 2, 3].map(() => commands.execute(new ParkConnection('system', SITE, 'meta', 'HTTP 401'))));
    expect((await json('platforms', 'list', '--site', SITE))[1]).toMatchObject({ state: 'parked', reason: 'HTTP 401' });
    expect((await cli('platforms', 'list', '--site', SITE)).stderr).toMatch(
      /^meta is parked\. Fix the credentials .+"platforms resume meta --site shop\.example" does\.\n$/,
    );
    const fixed = await json('platforms', 'connect', 'meta', '--site', SITE, '--set', 'access_token=new-token');
    expect(fixed).toMatchObject({ state: 'active', settings: { pixel_id: '456' } });
    expect(fixed.reason).toBeUndefined();
    await commands.execute(new ParkConnection('system', SITE, 'meta', 'HTTP 403'));
    expect(await json('platforms', 'resume', 'meta', '--site', SITE)).toMatchObject({ state: 'active' });

    expect(await json('platforms', 'disconnect', 'meta', '--site', SITE)).toMatchObject({
      platform: 'meta',
      connected: false,
    });
    expect(await secrets.connectionSecrets(SITE, 'meta')).toEqual({});
    expect((await json('platforms', 'list', '--site', SITE))[1]).toMatchObject({ connected: false, settings: {} });
    expect(await refused('platforms', 'pause', 'meta', '--site', SITE)).toMatch(
      /^meta is not connected to shop\.example/,
    );
    await commands.execute(new ParkConnection('system', SITE, 'meta', 'too late'));

    expect((await siteEvents()).map(({ type }) => type)).toEqual([
      'site.registered.v1',
      'site.platform_connected.v1',
      'site.platform_connected.v1',
      'site.platform_connected.v1',
      'site.platform_paused.v1',
      'site.platform_connected.v1',
      'site.platform_resumed.v1',
      'site.platform_parked.v1',
      'site.platform_connected.v1',
      'site.platform_parked.v1',
      'site.platform_resumed.v1',
      'site.platform_disconnected.v1',
    ]);
  });

  it('can be one of several of a platform, each with a name', async () => {
    await connectMeta();
    const options = ['--site', SITE, '--set', 'pixel_id=123', '--set', `access_token=${TOKEN}`];
    const second = await json('platforms', 'connect', 'meta', '--name', 'second', ...options);
    expect(second).toMatchObject({ platform: 'meta:second', state: 'active', sameAccountAs: 'meta' });
    const { stderr } = await cli('platforms', 'connect', 'meta:third', ...options);
    expect(stderr).toMatch(/^meta sends to the same account: the platform gets every conversion twice, /);
    await json('platforms', 'pause', 'meta', '--name', 'second', '--site', SITE);
    await json('platforms', 'disconnect', 'meta:third', '--site', SITE);
    const list: { platform: string; state?: string }[] = await json('platforms', 'list', '--site', SITE);
    expect(list.slice(1, 4).map(({ platform, state }) => [platform, state])).toEqual([
      ['meta', 'active'],
      ['meta:second', 'paused'],
      ['tiktok', undefined],
    ]);
    expect((await cli('platforms', 'resume', 'meta:third', '--site', SITE)).stderr).toMatch(
      /^meta:third is not connected/,
    );
    expect((await cli('sync', 'log', '--site', SITE, '--platform', 'meta:Third')).stderr).toContain('not "Third"');
  });

  it('stores its secrets with the event that refers to them', async () => {
    const { appendWith } = log;
    const stored: unknown[] = [];
    const read = async () => stored.push(await secrets.connectionSecrets(SITE, 'segment'));
    jest.spyOn(log, 'appendWith').mockImplementation(async (request, change) => {
      await read();
      const outcome = await appendWith.call(log, request, change);
      await read();
      return outcome;
    });
    await commands.execute(new ConnectPlatform('system', SITE, segment, { set: { write_key: TOKEN } }));
    expect(stored).toEqual([{}, { write_key: TOKEN }]);
  });

  it('appends no event without a change', async () => {
    await connectMeta();
    const before = await siteEvents();
    await connectMeta();
    await json('platforms', 'connect', 'meta', '--site', SITE);
    await json('platforms', 'resume', 'meta', '--site', SITE);
    await json('platforms', 'disconnect', 'meta', '--site', SITE);
    await json('platforms', 'disconnect', 'meta', '--site', SITE);
    expect((await siteEvents()).slice(before.length).map(({ type }) => type)).toEqual([
      'site.platform_disconnected.v1',
    ]);
  });

  it('starts without settings after it was disconnected', async () => {
    await connectMeta('--set', 'events=lead');
    await json('platforms', 'disconnect', 'meta', '--site', SITE);
    expect(await refused('platforms', 'connect', 'meta', '--site', SITE)).toMatch(
      /^meta requires pixel_id .*access_token/,
    );
    expect((await connectMeta()).settings).toEqual({ pixel_id: '123', access_token: true });
  });

  it('is refused with the name of the invalid setting, and nothing is stored', async () => {
    const connect = ['platforms', 'connect', 'meta', '--site', SITE];
    expect(await refused(...connect, '--set', 'pixel_id=1')).toMatch(/^meta requires access_token \(/);
    expect(await refused(...connect, '--set', 'pixel_id=abc')).toMatch(/^--set pixel_id: /);
    expect(await refused(...connect, '--set', 'pixle_id=1')).toMatch(
      /^meta has no setting "pixle_id"\. Available: pixel_id, access_token, .*event\.<ours>, field\.<theirs>\.$/m,
    );
    expect(await refused(...connect, '--set', `access_token=${TOKEN}`, '--endpoint', 'gateway')).toMatch(
      /^--endpoint: /,
    );
    expect(await refused('platforms', 'connect', 'myspace', '--site', SITE)).toMatch(
      /^There is no platform "myspace"\. Available: google_ads, meta,/,
    );
    expect(await refused('platforms', 'connect', 'meta', '--site', 'no.example')).toMatch(
      /^There is no site no\.example/,
    );
    expect(await refused('platforms', 'resume', 'meta', '--site', SITE)).toMatch(
      /^meta is not connected to shop\.example\. Connect it with "platforms connect meta --site shop\.example"\.$/m,
    );
    const wrong = await cli(...connect, '--set', TOKEN);
    expect(wrong).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^--set takes a name and a value/),
    });
    expect(wrong.stderr).not.toContain(TOKEN);
    expect((await cli('platforms', 'connect', 'meta')).code).toBe(2);
    expect(await siteEvents()).toHaveLength(1);
    expect(await secretNames()).toEqual(['dedup']);
  });

  it('to a webhook generates a secret and shows it once', async () => {
    const connect = ['platforms', 'connect', 'webhook', '--site', SITE];
    const made = await json(...connect, '--set', 'url=https://hooks.example/cc');
    expect(made).toMatchObject({ settings: { url: 'https://hooks.example/cc', secret: true } });
    expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await secrets.connectionSecrets(SITE, 'webhook')).toEqual({ secret: made.secret });
    const again = await json(...connect, '--set', 'events=lead');
    expect(again.secret).toBeUndefined();
    const { stdout, stderr } = await cli(...connect, '--set', 'secret=');
    expect(stdout).toMatch(/\nsecret +whsec_/);
    expect(stderr).toMatch(/^Save the secret now/);
    expect((await secrets.connectionSecrets(SITE, 'webhook'))['secret']).not.toBe(made.secret);
    expect(JSON.stringify(await siteEvents())).not.toContain('whsec_');
  });

  it('never exposes its secrets in events, rows or output', async () => {
    const outputs = [
      await cli(
        'platforms',
        'connect',
        'meta',
        '--site',
        SITE,
        '--set',
        'pixel_id=1',
        '--set',
        `access_token=${TOKEN}`,
      ),
      await cli('platforms', 'connect', 'meta', '--site', SITE, '--set', 'pixel_id=2', '--json'),
      await cli('platforms', 'pause', 'meta', '--site', SITE),
      await cli('platforms', 'list', '--site', SITE),
      await cli('platforms', 'list', '--site', SITE, '--json'),
      await cli('events', 'export'),
      await cli('sites', 'list', '--json'),
    ];
    expect(outputs.map(({ code }) => code)).toEqual(outputs.map(() => 0));
    const { rows } = await postgres.pool.query<{ text: string }>(
      `SELECT t::text AS text FROM cc.sites t UNION ALL SELECT encode(sealed, 'escape') FROM cc.secrets`,
    );
    expect(rows).toHaveLength(4);
    const everything = JSON.stringify([outputs, rows, await log.read()]);
    expect(everything).toContain('access_token');
    expect(everything).not.toContain(TOKEN);
  });

  it('to an address with a token keeps the token out of events, rows and output', async () => {
    const address = `https://hooks.example/in/B01${TOKEN}T0k3n?key=${TOKEN}&v=`;
    const shown = 'https://hooks.example/in/***?key=***&v=';
    const outputs = [
      await cli('platforms', 'connect', 'webhook', '--site', SITE, '--set', `url=${address}`, '--json'),
      await cli('platforms', 'list', '--site', SITE, '--json'),
      await cli('webhook', 'set', '--site', SITE, '--url', address, '--json'),
      await cli('webhook', 'show', '--site', SITE),
      await cli('events', 'export'),
      await cli('replay', 'projection', 'sites', '--until', '999999999'),
    ];
    expect(outputs.map(({ code }) => code)).toEqual(outputs.map(() => 0));
    expect(JSON.parse(outputs[0]?.stdout ?? '').settings).toEqual({ url: shown, secret: true });
    expect(JSON.parse(outputs[2]?.stdout ?? '').url).toBe(shown);
    const { rows } = await postgres.pool.query<{ text: string }>('SELECT t::text AS text FROM cc.sites t');
    expect(JSON.stringify([outputs, rows, await log.read()])).not.toContain(TOKEN);
    // Requests use the sealed address.
    expect(open(await start()).connections.get('webhook')?.secrets['url']).toBe(address);
    expect((await secrets.connectionSecrets(SITE, 'outbound'))['url']).toBe(address);
    // A new token is a change, though the shown address is the same; so is an address without one.
    const before = (await siteEvents()).length;
    for (const url of [`${address}2`, `${address}2`, 'https://hooks.example/in'])
      await json('webhook', 'set', '--site', SITE, '--url', url);
    expect((await siteEvents()).slice(before)).toMatchObject([
      { type: 'site.webhook_configured.v1', data: { url: `${shown}***`, newSecret: false } },
      { type: 'site.webhook_configured.v1', data: { url: 'https://hooks.example/in', newSecret: false } },
    ]);
    expect((await secrets.connectionSecrets(SITE, 'outbound'))['url']).toBe('https://hooks.example/in');
  });

  it('takes secrets from standard input and from files', async () => {
    const file = join(dataDir, 'pixel');
    writeFileSync(file, '123\n');
    const connect = ['platforms', 'connect', 'meta', '--site', SITE, '--set', 'access_token=-'];
    const made = await cli(...connect, '--set-file', `pixel_id=${file}`, '--json', Readable.from([`${TOKEN}\n`]));
    expect(JSON.parse(made.stdout).settings).toEqual({ pixel_id: '123', access_token: true });
    expect(await secrets.connectionSecrets(SITE, 'meta')).toEqual({ access_token: TOKEN });
    const set = ['webhook', 'set', '--site', SITE, '--url', 'https://hooks.example/in'];
    expect((await cli(...set, '--secret', '-', Readable.from(['from-stdin']))).code).toBe(0);
    expect(await secrets.connectionSecrets(SITE, 'outbound')).toMatchObject({ secret: 'from-stdin' });
    writeFileSync(file, 'from-file');
    expect((await cli(...set, '--secret-file', file)).code).toBe(0);
    expect(await secrets.connectionSecrets(SITE, 'outbound')).toMatchObject({ secret: 'from-file' });
    expect(await refused('platforms', 'connect', 'meta', '--site', SITE, '--set', 'access_token=-')).toBe(
      '--set access_token: there is no standard input to read from.\n',
    );
  });

  it('is part of the site row, and of a rebuilt one', async () => {
    await connectMeta();
    await commands.execute(new ParkConnection('system', SITE, 'meta', 'HTTP 401'));
    await json('sites', 'list');
    const rows = async () => (await postgres.pool.query('SELECT connections FROM cc.sites')).rows;
    const [row] = await rows();
    expect(row.connections).toEqual((await sites.get(SITE)).connections);
    expect(row.connections).toMatchObject([{ platform: 'meta', state: 'parked', settings: { pixel_id: '123' } }]);
    await json('projections', 'rebuild', 'sites');
    expect(await rows()).toEqual([row]);
  });
});

describe('running service', () => {
  it('has the connections as of the newest event', async () => {
    await json('platforms', 'connect', 'webhook', '--site', SITE, '--set', 'url=https://hooks.example/cc');
    const directory = await start();
    expect([...open(directory).connections.keys()]).toEqual(['webhook']);

    await connectMeta();
    await directory.refresh();
    expect([...open(directory).connections.keys()]).toEqual(['meta', 'webhook']);
    expect(open(directory).connections.get('meta')).toMatchObject({
      connection: { state: 'active', settings: { pixel_id: '123' } },
      secrets: { access_token: TOKEN },
      missingSecrets: [],
    });
    expect(open(directory).siteVersion).toBe((await siteEvents()).at(-1)?.version);

    await json('platforms', 'pause', 'meta', '--site', SITE);
    await json('platforms', 'connect', 'meta', '--site', SITE, '--set', 'access_token=new-token');
    await directory.refresh();
    expect(open(directory).connections.get('meta')).toMatchObject({
      connection: { state: 'paused' },
      secrets: { access_token: 'new-token' },
    });
    await json('platforms', 'disconnect', 'webhook', '--site', SITE);
    await directory.refresh();
    expect([...open(directory).connections.keys()]).toEqual(['meta']);
    expect(open(directory).site.connections).toHaveLength(2);
  });

  it('reads a replaced secret on reload', async () => {
    await connectMeta();
    const directory = await start();
    await secrets.storeConnectionSecrets(SITE, 'meta', { access_token: 'rotated' });
    expect(open(directory).connections.get('meta')?.secrets).toEqual({ access_token: TOKEN });
    await directory.reloadSecrets(SITE, 'meta');
    expect(open(directory).connections.get('meta')?.secrets).toEqual({ access_token: 'rotated' });
    expect(directory.find('www.shop.example')).toBe(open(directory));
    await directory.reloadSecrets(SITE, 'tiktok');
    expect([...open(directory).connections.keys()]).toEqual(['meta']);
  });

  it('continues when a secret cannot be decrypted, and names it', async () => {
    await connectMeta();
    await postgres.pool.query(
      `UPDATE cc.secrets SET sealed = 'nonsense that is long enough to be sealed' WHERE name = 'meta.access_token'`,
    );
    const logged = captureLog();
    const directory = await start({ LOG_LEVEL: 'warn' });
    logged.stop();
    expect(open(directory).connections.get('meta')).toMatchObject({ secrets: {}, missingSecrets: ['access_token'] });
    expect(logged.text()).toContain('Nothing can be sent to meta for shop.example: its access_token cannot be opened.');
    const { checks } = JSON.parse((await cli('doctor', '--json')).stdout);
    expect(named(checks, 'secrets')).toMatchObject({
      ok: false,
      detail: '2 sealed with SECRET_KEY, 0 with SECRET_KEY_PREVIOUS, 1 with neither: shop.example meta.access_token',
    });
    await connectMeta();
    await directory.refresh();
    expect(open(directory).connections.get('meta')).toMatchObject({
      secrets: { access_token: TOKEN },
      missingSecrets: [],
    });
  });
});

describe('new SECRET_KEY', () => {
  const both = { SECRET_KEY: keyB, SECRET_KEY_PREVIOUS: keyA };

  it('re-encrypts all secrets, after which the previous key is not needed', async () => {
    await connectMeta();
    const first = await start();
    const { dedupSecret } = open(first);
    await stop();

    expect(named((await json('doctor', both)).checks, 'secrets')).toEqual({
      name: 'secrets',
      ok: true,
      detail: '0 sealed with SECRET_KEY, 3 with SECRET_KEY_PREVIOUS',
      fix: 'Restart the service: it seals them with SECRET_KEY. Keep SECRET_KEY_PREVIOUS until then.',
    });
    const logged = captureLog();
    await start({ ...both, LOG_LEVEL: 'info' });
    logged.stop();
    expect(logged.text()).toContain('"resealed":3');
    await stop();
    expect(named((await json('doctor', both)).checks, 'secrets')).toMatchObject({
      ok: true,
      detail: '3 sealed with SECRET_KEY, 0 with SECRET_KEY_PREVIOUS',
      fix: expect.stringMatching(/^Remove SECRET_KEY_PREVIOUS/),
    });

    const last = await start({ SECRET_KEY: keyB });
    expect(open(last).dedupSecret).toBe(dedupSecret);
    expect(open(last).connections.get('meta')?.secrets).toEqual({ access_token: TOKEN });
    expect(named((await json('doctor', { SECRET_KEY: keyB })).checks, 'secrets')).toBeUndefined();
    expect(await secrets.countByKey()).toMatchObject({
      current: 0,
      unreadable: ['shop.example dedup', 'shop.example meta.access_token', 'key-check'],
    });
  });

  it('does not overwrite a secret that is replaced meanwhile', async () => {
    await connectMeta();
    const [oldKey, newKey] = [Buffer.from(keyA, 'hex'), Buffer.from(keyB, 'hex')];
    const slow = new SiteSecrets(postgres.pool, new Sealer(newKey, oldKey));
    const query = postgres.pool.query.bind(postgres.pool) as (text: string, values: unknown[]) => Promise<unknown>;
    const spied = jest.spyOn(postgres.pool, 'query').mockImplementation((async (text: string, values: unknown[]) => {
      if (text.startsWith('UPDATE cc.secrets') && values[1] === 'meta.access_token') {
        spied.mockRestore();
        await slow.storeConnectionSecrets(SITE, 'meta', { access_token: 'rotated meanwhile' });
      }
      return query(text, values);
    }) as never);
    // The key check and the dedup secret.
    expect(await slow.reencryptAll()).toBe(2);
    expect(await slow.connectionSecrets(SITE, 'meta')).toEqual({ access_token: 'rotated meanwhile' });
    expect(await slow.reencryptAll()).toBe(0);
  });

  it('is refused without the previous key, and nothing is encrypted with it', async () => {
    await connectMeta();
    const wrong = { SECRET_KEY: keyB };
    const message = /^SECRET_KEY is not the key that this database was first used with\. .*SECRET_KEY_PREVIOUS\.\n$/;
    const connect = ['platforms', 'connect', 'segment', '--site', SITE, '--set', 'write_key=abc'];
    expect(await refused(...connect, wrong)).toMatch(message);
    expect(await refused('sites', 'add', 'other.example', wrong)).toMatch(message);
    expect(await secretNames()).toEqual(['dedup', 'meta.access_token']);
    await expect(start(wrong)).rejects.toThrow(UserError);
  });
});

function connectMeta(...options: string[]) {
  const settings = ['--set', 'pixel_id=123', '--set', `access_token=${TOKEN}`];
  return json('platforms', 'connect', 'meta', '--site', SITE, ...settings, ...options);
}

async function start(settings: Record<string, string> = {}): Promise<SiteDirectory> {
  const service = await startService(readSettings({ ...environment, PORT: '0', LOG_LEVEL: 'silent', ...settings }));
  running.push(service);
  return service.app.get(SiteDirectory);
}

async function stop(): Promise<void> {
  await running.pop()?.app.close();
}

function open(directory: SiteDirectory): LoadedSite {
  return directory.find(SITE) as LoadedSite;
}

function siteEvents(): Promise<StoredEvent[]> {
  return log.read({ categories: ['site'] });
}

async function secretNames(): Promise<string[]> {
  const { rows } = await postgres.pool.query<{ name: string }>(
    `SELECT name FROM cc.secrets WHERE site <> '' ORDER BY name`,
  );
  return rows.map(({ name }) => name);
}

function named(checks: { name: string }[], name: string) {
  return checks.find((check) => check.name === name);
}

type Arguments = (string | Record<string, string> | Readable)[];

/** An object among the arguments sets environment variables; a stream is the standard input. */
async function cli(...args: Arguments) {
  const argv = args.filter((arg) => typeof arg === 'string');
  const stdin = args.find((arg) => arg instanceof Readable);
  const variables = args.find(
    (arg): arg is Record<string, string> => typeof arg !== 'string' && !(arg instanceof Readable),
  );
  const stdout = new Collector();
  const stderr = new Collector();
  const code = await runCli(argv, { env: { ...environment, ...variables }, stdout, stderr, ...(stdin && { stdin }) });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

async function json(...args: Arguments) {
  const { code, stdout, stderr } = await cli(...args, '--json');
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

async function refused(...args: Arguments): Promise<string> {
  const { code, stdout, stderr } = await cli(...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^[^\n]+\n$/);
  return stderr;
}
