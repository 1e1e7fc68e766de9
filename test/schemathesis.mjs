// Sends requests made from the OpenAPI documents to a service of its own, and checks every answer against them (schemathesis).
//   npm run test:schemathesis [-- public|anyone|strict|admin [options of "st run"]]
// The service calls addresses that it is sent, so that everything runs in a network namespace that has only the loopback interface.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort, startService } from './bench/service.mjs';

const VERSION = '4.32.5';
const SELF = fileURLToPath(import.meta.url);
const CONFIGURATION = join(import.meta.dirname, 'schemathesis.toml');
const SIGNED_IN_WITHIN_MS = 180_000;
const USER = { email: 'ada@shop.example', password: 'correct horse battery staple' };
/** The public API of a site with defaults, of one that knows people by anything, of one with strict fields; and the management API. */
const APIS = ['public', 'anyone', 'strict', 'admin'];
const SITE_SETTINGS = {
  public: { identifyBy: 'email' },
  anyone: { identifyBy: 'any' },
  strict: { identifyBy: 'email', strictFields: true },
};
/** Of each operation of the public API, in the phase that makes requests at random. */
const EXAMPLES = '200';
/** Left out: a stream, which does not end, and what ends the session. */
const ADMIN_EXCLUDED = [
  ['--exclude-path', '/api/v1/events'],
  ['--exclude-name', 'DELETE /api/v1/session'],
  ['--exclude-name', 'DELETE /api/v1/sessions'],
].flat();

const [only, ...options] = process.argv.slice(2);
if (only !== undefined && !APIS.includes(only)) {
  console.error(
    `"${only}" is none of ${APIS.join(', ')}: npm run test:schemathesis [-- public|anyone|strict|admin [options of "st run"]]`,
  );
  process.exit(2);
}
if (process.env.CC_SCHEMATHESIS === undefined) process.exitCode = await runIsolated(await findProgram());
else process.exitCode = await checkAll(process.env.CC_SCHEMATHESIS);

/** `st` of the environment that CC_PYTHON names, or of one that is created once. */
async function findProgram() {
  const given = process.env.CC_PYTHON && join(process.env.CC_PYTHON, '../st');
  if (given && existsSync(given)) return given;
  const folder = join(import.meta.dirname, `../node_modules/.cache/schemathesis-${VERSION}`);
  const program = join(folder, 'bin/st');
  if (!existsSync(program)) {
    execFileSync('python3', ['-m', 'venv', folder], { stdio: 'inherit' });
    execFileSync(join(folder, 'bin/pip'), ['install', '--quiet', `schemathesis==${VERSION}`], { stdio: 'inherit' });
  }
  return program;
}

function runIsolated(program) {
  // Without root, a user namespace gives the right to create one for the network.
  const namespace = process.getuid() === 0 ? ['--net'] : ['--map-current-user', '--keep-caps', '--net'];
  const command = `ip link set lo up && exec "$0" "$@"`;
  const args = [...namespace, 'sh', '-c', command, process.execPath, SELF, ...process.argv.slice(2)];
  return run('unshare', args, { CC_SCHEMATHESIS: program });
}

async function checkAll(program) {
  const dataDir = mkdtempSync(join(tmpdir(), 'cc-schemathesis-'));
  const adminUrl = `http://localhost:${await freePort()}`;
  const service = await startService(dataDir, {
    ADMIN_PORT: new URL(adminUrl).port,
    // The session cookie has the documented name only with it.
    ADMIN_URL: adminUrl,
    ADMIN_EMAIL: USER.email,
    ADMIN_PASSWORD: USER.password,
    OUTBOUND_ALLOW_PRIVATE: 'true',
    DEMO_PLATFORMS: 'true',
  });
  try {
    const credentials = await signIn(adminUrl);
    let failed = 0;
    // The public API first: requests to the other one disable its site.
    for (const api of APIS.filter((name) => only === undefined || only === name)) {
      if (SITE_SETTINGS[api]) await changeSite(adminUrl, credentials, SITE_SETTINGS[api]);
      const arguments_ = api === 'admin' ? adminArguments(adminUrl) : await publicArguments(api, service, dataDir);
      failed += await run(program, [...arguments_, '--continue-on-failure', ...options], credentials);
    }
    return failed === 0 ? 0 : 1;
  } finally {
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A token of an administrator with all scopes, and a session, for what a token may not do. */
async function signIn(url) {
  const headers = { 'content-type': 'application/json' };
  const session = await untilSignedIn(async () => {
    const answer = await fetch(`${url}/api/v1/session`, { method: 'POST', headers, body: JSON.stringify(USER) });
    if (!answer.ok) throw new Error(`The administrator cannot sign in: HTTP ${answer.status}`);
    return answer;
  });
  const [cookie] = session.headers.get('set-cookie').split(';');
  const created = await fetch(`${url}/api/v1/tokens`, {
    method: 'POST',
    headers: { ...headers, cookie, 'x-cc-csrf': '1' },
    body: JSON.stringify({ name: 'schemathesis', scopes: ['read', 'write', 'erase'] }),
  });
  if (!created.ok) throw new Error(`No token was created: HTTP ${created.status}`);
  return { CC_TOKEN: (await created.json()).token, CC_SESSION: cookie.slice(cookie.indexOf('=') + 1) };
}

function adminArguments(url) {
  const document = `${url}/api/v1/openapi.json`;
  const limits = [...ADMIN_EXCLUDED, '--max-examples', '15'];
  return ['--config-file', CONFIGURATION, 'run', document, '-H', 'X-CC-CSRF: 1', ...limits];
}

async function publicArguments(api, { port, key }, folder) {
  const url = `http://localhost:${port}`;
  const document = await (await fetch(`${url}/docs/openapi.json`)).json();
  const { schema } = document.paths['/__cc/inbound'].post.requestBody.content['application/json'];
  // A time in the future is refused, which no schema can describe.
  delete schema.properties.occurredAt;
  const path = join(folder, 'openapi.json');
  writeFileSync(path, JSON.stringify(document));
  const limits = ['--phases', 'examples,coverage,fuzzing', '--max-examples', EXAMPLES];
  // It cannot use the patterns that exclude such texts (`body-schema.spec.ts` tests them).
  const texts = ['--generation-allow-x00', 'false', '--generation-codec', 'utf-8'];
  // The settings change nothing else.
  const paths = api === 'public' ? [] : ['--include-path', '/__cc/inbound'];
  return ['run', path, '--url', url, '-H', `X-CC-Api-Key: ${key}`, ...paths, ...texts, ...limits];
}

async function changeSite(url, { CC_TOKEN }, settings) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${CC_TOKEN}` };
  const body = JSON.stringify(settings);
  const changed = await fetch(`${url}/api/v1/sites/localhost/settings`, { method: 'PATCH', headers, body });
  if (!changed.ok) throw new Error(`The site cannot be changed: HTTP ${changed.status} ${await changed.text()}`);
}

/** The management API listens, and its first administrator exists, some time after the public API listens. */
async function untilSignedIn(request) {
  for (const deadlineMs = performance.now() + SIGNED_IN_WITHIN_MS; ; await sleep(200)) {
    try {
      return await request();
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
    }
  }
}

/** The exit code of a program. */
function run(program, args, environment) {
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...environment } });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
