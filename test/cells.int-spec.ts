import { PassThrough } from 'node:stream';
import { runCli } from '../src/cli/run-cli.js';
import { startTestAdmin, type TestAdmin } from './support/admin.js';
import { createDatabase } from './support/databases.js';
import { SECRET_KEY } from './support/secret-key.js';

/** Where nothing listens. */
const SILENT = 'http://127.0.0.1:1';

let north: TestAdmin;
let south: TestAdmin;
/** Environment of cell south, which knows cell north. */
let cells: Record<string, string>;

beforeAll(async () => {
  north = await startTestAdmin(await createDatabase(), { CELL: 'north' });
  const boss = await north.signedIn('admin');
  const { body } = await boss('/tokens', { method: 'POST', body: { name: 'south', scopes: ['read'] } });
  cells = { CELL: 'south', CELLS: `north=${north.url},south=http://127.0.0.1:2`, CELL_TOKENS: `north=${body.token}` };
  south = await startTestAdmin(await createDatabase(), cells);
  await boss('/sites', { method: 'POST', body: { host: 'north.example', aliases: ['www.north.example'] } });
  expect(await cli('sites', 'add', 'south.example')).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await south?.stop();
  await north?.stop();
});

/** In cell south. */
async function cli(...argv: string[]) {
  return cliWith({}, ...argv);
}

async function cliWith(environment: Record<string, string>, ...argv: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const env = { DATABASE_URL: south.databaseUrl, SECRET_KEY, ...cells, ...environment };
  const code = await runCli(argv, { env, stdout, stderr });
  return { code, out: String(stdout.read() ?? ''), error: String(stderr.read() ?? '') };
}

const hostsAndCells = (json: string) =>
  (JSON.parse(json) as { host: string; cell?: string }[]).map(({ host, cell }) => `${host} ${cell}`);

describe('cells that know each other', () => {
  it('list the sites of all of them', async () => {
    const listed = await cli('sites', 'list', '--json');
    expect(hostsAndCells(listed.out)).toEqual(['south.example south', 'north.example north']);
    expect(listed).toMatchObject({ code: 0, error: '' });
    expect((await cli('sites', 'list')).out).toMatch(/^HOST +CELL +INBOUND/);
    const user = await south.signedIn('analyst');
    expect((await user('/cells')).body).toMatchObject({
      items: [{ name: 'north', url: north.url, sites: [{ host: 'north.example', inbound: false }] }],
    });
  });

  it('show a user no site that they may not see here', async () => {
    const user = await south.signedIn('analyst', ['south.example']);
    expect((await user('/cells')).body.items).toMatchObject([{ name: 'north', sites: [] }]);
  });

  it('name a cell that does not answer, or refuses the token, and list the rest', async () => {
    const unreachable = await cliWith({ CELLS: `north=${SILENT}` }, 'sites', 'list', '--json');
    expect(hostsAndCells(unreachable.out)).toEqual(['south.example south']);
    expect(unreachable.code).toBe(1);
    expect(unreachable.error).toMatch(/The sites of cell north are missing.*refused the connection/);
    const refused = await cliWith({ CELL_TOKENS: 'north=cct_wrong' }, 'sites', 'list', '--json');
    expect(refused).toMatchObject({ code: 1, error: expect.stringContaining('refuses the token in CELL_TOKENS') });
    expect(refused.error).not.toContain('cct_wrong');
  });

  it('have a host, also as an alias, in one of them', async () => {
    const operator = await south.signedIn('operator');
    for (const host of ['north.example', 'WWW.north.example']) {
      const added = await cli('sites', 'add', host);
      expect(added).toMatchObject({ code: 1, error: expect.stringContaining('is a site of cell north') });
      const posted = await operator('/sites', { method: 'POST', body: { host } });
      expect(posted).toMatchObject({ status: 422, body: { detail: expect.stringContaining('cell north') } });
    }
    const alias = await cli('sites', 'add', 'other.example', '--alias', 'www.north.example');
    expect(alias).toMatchObject({ code: 1, error: expect.stringContaining('is a site of cell north') });
  });

  it('refuse the alias of another cell for a site that exists, and ask nothing about one that it has', async () => {
    const operator = await south.signedIn('operator');
    const set = (...names: string[]) => [
      'sites',
      'set',
      'south.example',
      ...names.flatMap((name) => ['--alias', name]),
    ];
    expect(await cli(...set('WWW.north.example'))).toMatchObject({
      code: 1,
      error: expect.stringContaining('is a site of cell north'),
    });
    const patch = (add: string[]) => operator('/sites/south.example/aliases', { method: 'PATCH', body: { add } });
    expect(await patch(['www.north.example'])).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('cell north') },
    });
    expect(await patch(['www.south.example'])).toMatchObject({ status: 200 });
    expect(await cliWith({ CELLS: `north=${SILENT}` }, ...set('www.south.example'))).toMatchObject({ code: 0 });
    expect(await cliWith({ CELLS: `north=${SILENT}` }, ...set('more.example'))).toMatchObject({ code: 1 });
  });

  it('find a host of their own before they ask others', async () => {
    const added = await cliWith({ CELLS: `north=${SILENT}` }, 'sites', 'add', 'south.example');
    expect(added).toMatchObject({ code: 1, error: expect.stringContaining('already belongs to site south.example') });
  });

  it('add no site while one of them does not answer', async () => {
    const added = await cliWith({ CELLS: `north=${SILENT}` }, 'sites', 'add', 'new.example');
    expect(added).toMatchObject({
      code: 1,
      error: expect.stringMatching(/not known whether cell north has new\.example/),
    });
  });

  it('name the cell of a site when a command is run in another one', async () => {
    const changed = await cli('inbound', 'enable', 'north.example');
    expect(changed).toMatchObject({ code: 1, error: expect.stringContaining(`cell north: run the command there`) });
    expect((await cli('sites', 'pause', 'unknown.example')).error).toContain('There is no site unknown.example');
  });
});

it.each([
  [{ CELLS: 'north=http://admin.north.example' }, 'https'],
  [{ CELLS: 'north' }, 'name=value'],
  [{ CELLS: 'north=cct_secret', CELL_TOKENS: 'north=https://a.example' }, 'CELLS'],
  [{ CELLS: 'north=secret://cct_secret' }, 'https'],
  [{ CELLS: 'north=https://a.example' }, 'no token'],
  [{ CELL_TOKENS: 'north=cct_secret' }, 'not in CELLS'],
  [{ CELLS: 'north=https://a.example', CELL_TOKENS: 'north=cct secret' }, 'CELL_TOKENS'],
])('the service refuses %j at the start', async (environment, reason) => {
  const { code, error } = await cliWith({ CELLS: '', CELL_TOKENS: '', ...environment }, 'sites', 'list');
  expect(code).toBe(1);
  expect(error).toContain(reason);
  expect(error).not.toContain('secret');
});
