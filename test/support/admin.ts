import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { request } from 'undici';
import { type RunningAdmin, startAdmin, stopAdmin } from '../../src/admin/admin.js';
import { Logger } from '../../src/kernel/logger.js';
import { openSealer } from '../../src/kernel/secret-key.js';
import { readSettings } from '../../src/kernel/settings/settings.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import { SIGN_IN_PLATFORMS } from '../../src/platforms/index.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import type { Role, Scope } from '../../src/users/access.js';
import { PasswordHasher } from '../../src/users/password.js';
import { SessionsService } from '../../src/users/sessions.service.js';
import type { TokenCreator } from '../../src/users/tokens.service.js';
import type { UserRow } from '../../src/users/user.row.js';
import { UsersService } from '../../src/users/users.service.js';
import { createDatabase, openDatabase } from './databases.js';
import { temporaryFolder } from './folders.js';
import { SECRET_KEY } from './secret-key.js';

export const PASSWORD = 'correct horse battery staple';

export interface AdminReply {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  /** Parsed, or undefined without a body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests compare parts of it.
  readonly body: any;
}

export interface AdminCall {
  readonly method?: string;
  readonly body?: unknown;
  /** Without the ones whose value is undefined. */
  readonly headers?: Record<string, string | undefined>;
}

/** Calls the API as one caller. */
export interface AdminClient {
  (path: string, call?: AdminCall): Promise<AdminReply>;
  post(path: string, body?: unknown, headers?: AdminCall['headers']): Promise<AdminReply>;
  put(path: string, body?: unknown, headers?: AdminCall['headers']): Promise<AdminReply>;
  patch(path: string, body?: unknown, headers?: AdminCall['headers']): Promise<AdminReply>;
  delete(path: string): Promise<AdminReply>;
}

/** An instance of the management API in this process, on a free port. */
export interface TestAdmin {
  readonly url: string;
  readonly databaseUrl: string;
  readonly postgres: Postgres;
  readonly log: PostgresEventLog;
  readonly app: RunningAdmin['app'];
  readonly users: UsersService;
  /** Without a session or a token. */
  readonly anonymous: AdminClient;
  withHeaders(headers: Record<string, string>): AdminClient;
  /** With the session that an answer opened. */
  withSession(reply: AdminReply): AdminClient;
  /** With a new token of a caller. */
  withToken(owner: AdminClient, scopes: readonly Scope[], sites?: readonly string[] | null): Promise<TokenClient>;
  /** A new user, signed in. */
  signedIn(role: Role, sites?: string[] | null): Promise<AdminClient>;
  addUser(role: Role, sites?: string[] | null): Promise<{ id: string; email: string }>;
  /** A new user who has chosen `PASSWORD`, with the answer that signed it in. */
  signUp(role: Role, sites?: string[] | null, headers?: AdminCall['headers']): Promise<SignedUp>;
  /** A session of a user, as a browser has it. */
  openSession(id: string): Promise<TokenCreator>;
  stop(): Promise<void>;
}

export type TokenClient = AdminClient & { readonly id: string; readonly token: string };

export interface SignedUp {
  readonly id: string;
  readonly email: string;
  readonly reply: AdminReply;
}

/** An instance on a database of its own, for all tests of a file. */
export async function useAdmin(environment: Record<string, string> = {}): Promise<TestAdmin> {
  const admin = await startTestAdmin(await createDatabase(), environment);
  afterAll(() => admin.stop());
  return admin;
}

export async function startTestAdmin(
  databaseUrl: string,
  environment: Record<string, string> = {},
): Promise<TestAdmin> {
  // Erasures are listed there: those of a spec do not belong in the folder of the checkout.
  const folder = temporaryFolder('cc-admin-');
  const required = { ADMIN_PORT: '0', LOG_LEVEL: 'silent', DATABASE_URL: databaseUrl, DATA_DIR: folder, SECRET_KEY };
  const settings = readSettings({ ...required, ...environment }, SIGN_IN_PLATFORMS);
  const postgres = await openDatabase(databaseUrl, settings.standby);
  const running = await startAdmin({
    settings: { ...settings, intervals: { ...settings.intervals, jobMs: 50 } },
    postgres,
    sealer: openSealer(settings),
    logger: new Logger(settings.logLevel),
  });
  const { url } = running;
  const users = new UsersService(postgres, new PasswordHasher());
  const log = new PostgresEventLog(postgres);
  const withHeaders = (own: Record<string, string>): AdminClient => {
    const call = async (path: string, { method = 'GET', body, headers = {} }: AdminCall = {}) => {
      const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
      const reply = await request(`${url}/api/v1${path}`, {
        method: method as 'GET',
        headers: defined({ ...type, ...own, ...headers }),
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await reply.body.text();
      return { status: reply.statusCode, headers: reply.headers, body: text === '' ? undefined : JSON.parse(text) };
    };
    return Object.assign(call, {
      post: (path: string, body?: unknown, headers = {}) => call(path, { method: 'POST', body, headers }),
      put: (path: string, body?: unknown, headers = {}) => call(path, { method: 'PUT', body, headers }),
      patch: (path: string, body?: unknown, headers = {}) => call(path, { method: 'PATCH', body, headers }),
      delete: (path: string) => call(path, { method: 'DELETE' }),
    });
  };
  const withSession = (reply: AdminReply) => withHeaders({ cookie: cookieOf(reply), 'x-cc-csrf': '1' });
  const anonymous = withHeaders({});
  const addUser = async (role: Role, sites: string[] | null = null) => {
    const email = `${role}-${randomBytes(4).toString('hex')}@team.example`;
    const { id } = await users.add({ email, role, sites });
    return { id, email };
  };
  const signUp: TestAdmin['signUp'] = async (role, sites = null, headers = {}) => {
    const { id, email } = await addUser(role, sites);
    const { secret: link } = await users.reset(id);
    return { id, email, reply: await anonymous.post('/session/password', { link, password: PASSWORD }, headers) };
  };
  return {
    url,
    databaseUrl,
    postgres,
    log,
    app: running.app,
    users,
    anonymous,
    withHeaders,
    withSession,
    async withToken(owner, scopes, sites) {
      const { status, body } = await owner.post('/tokens', { name: 'a token', scopes, sites });
      if (status !== 201) throw new Error(`No token was created: ${JSON.stringify(body)}`);
      return Object.assign(withHeaders({ authorization: `Bearer ${body.token}` }), { id: body.id, token: body.token });
    },
    addUser,
    signUp,
    signedIn: async (role, sites) => withSession((await signUp(role, sites)).reply),
    async openSession(userId) {
      const user = (await users.find(userId)) as UserRow;
      return { userId, session: (await new SessionsService(postgres).open(user)) as string };
    },
    async stop() {
      await log.close();
      await stopAdmin(running, settings.shutdownGraceMs);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function defined(headers: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >;
}

/** Name and value of the cookie that an answer sets. */
export function cookieOf({ headers }: AdminReply): string {
  return String(headers['set-cookie']).split(';')[0] as string;
}
