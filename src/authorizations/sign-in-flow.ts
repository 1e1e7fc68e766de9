import { hash } from 'node:crypto';
import { PlatformClient } from '../delivery/connections/platform-client.js';
import type { Actor, CommandExecutor } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import type { Settings } from '../kernel/settings/settings.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import { platformOf } from '../platforms/index.js';
import type { Postgres } from '../postgres/postgres.js';
import { type ConnectedPlatform, ConnectPlatform } from '../sites/connections/connection.commands.js';
import type { Site } from '../sites/site.js';
import type { SiteRepository } from '../sites/site-repository.js';
import { generateSecretToken } from '../users/secret-token.js';
import { exchangeCode, NoTokens, type SignInPlatform } from './exchange-code.js';
import { appOf, type OauthApps } from './oauth-apps.js';
import type { GrantedAccess, PlatformSignIns, SignIn, SignInBrowser, SignInDetails } from './platform-sign-ins.js';

export interface SignInDependencies {
  readonly settings: Settings;
  readonly postgres: Postgres;
  readonly commands: CommandExecutor;
  readonly sites: SiteRepository;
  readonly apps: OauthApps;
  readonly signIns: PlatformSignIns;
}

/** A sign-in that its person has come back from. */
interface ReturnedSignIn extends SignIn {
  readonly details: SignInDetails;
}

/** How platforms say that the person gave no access; LinkedIn has names of its own. */
const CANCELLED = ['access_denied', 'user_cancelled_login', 'user_cancelled_authorize'];
const CODE_MAX = 4_096;

/** Begins a sign-in for a new connection, or for one that needs new tokens. */
export async function beginSignIn(
  { apps, signIns }: SignInDependencies,
  site: Site,
  connection: ConnectionName,
  started: SignInBrowser & { readonly userId: string; readonly redirectUri: string },
): Promise<{ id: string; url: string; expiresAt: Date }> {
  const { redirectUri, userId } = started;
  const platform = signInPlatform(connection);
  const connected = connectedOf(site, connection);
  const problem = connected && platform.authorization.problem?.(connected.settings);
  if (problem !== undefined) throw new UserError(`${connection}: ${problem}`);
  const stored = await apps.get(platform.name);
  const app = appOf(stored, connected);
  if (stored && !app)
    throw new UserError(`The OAuth app for ${platform.name} has another endpoint than the connection ${connection}.`);
  if (!app)
    throw new UserError(
      `There is no OAuth app for ${platform.name}. An administrator adds it: Settings > OAuth apps. docs/platforms/${platform.name}.md describes it.`,
    );
  const { text: verifier } = generateSecretToken();
  const details = { verifier, redirectUri, endpoint: app.endpoint };
  const { id, state, expiresAt } = await signIns.start({ userId, site: site.host, connection }, started, details);
  const challenge = platform.authorization.pkce ? hash('sha256', verifier, 'base64url') : undefined;
  return { id, url: platform.authorization.consentUrl(app, { redirectUri, state, challenge }), expiresAt };
}

/**
 * Exchanges the code for tokens. A connection that exists gets them at once; for a new one they wait for its settings. A sign-in
 * that fails says why.
 */
export async function finishSignIn(
  dependencies: SignInDependencies,
  site: Site,
  signIn: ReturnedSignIn,
  answer: URLSearchParams,
  actor: Actor,
): Promise<void> {
  const { signIns, sites } = dependencies;
  try {
    const access = await obtainAccess(dependencies, site, signIn, answer);
    await signIns.grant(signIn.id, access);
    // As it is now: the exchange may have taken long.
    const current = await sites.findByHost(site.host);
    if (current && connectedOf(current, signIn.connection)) await connectSignedIn(dependencies, signIn, {}, actor);
  } catch (error) {
    // Anything else is an error of the service. What was stored until then says how far it got.
    if (!(error instanceof NoTokens || error instanceof UserError)) throw error;
    await signIns.fail(signIn.id, error.message);
  }
}

/** Connects with the tokens of a sign-in. Undefined if they were used, or the sign-in is not the caller's. */
export function connectSignedIn(
  { signIns, commands }: SignInDependencies,
  signIn: Pick<SignIn, 'id' | 'userId' | 'site' | 'connection'>,
  settings: Readonly<Record<string, string>>,
  actor: Actor,
): Promise<ConnectedPlatform | undefined> {
  const { id, site, connection } = signIn;
  return signIns.use(id, signIn, ({ endpoint, settings: granted }) => {
    const request = { set: { ...granted, ...settings }, tokensFrom: { endpoint } };
    return commands.execute(new ConnectPlatform(actor, site, signInPlatform(connection), request, connection));
  });
}

export function signInPlatform(connection: ConnectionName): SignInPlatform {
  const platform = platformOf(connection);
  if (!platform?.authorization) throw new UserError(`${connection} has no sign-in: set its token or key.`);
  return platform as SignInPlatform;
}

async function obtainAccess(
  { settings, postgres, apps }: SignInDependencies,
  site: Site,
  { connection, details }: ReturnedSignIn,
  answer: URLSearchParams,
): Promise<GrantedAccess> {
  const platform = signInPlatform(connection);
  const { authorization } = platform;
  const code = codeOf(answer, authorization.codeParameter);
  const { endpoint, redirectUri, verifier } = details;
  const app = appOf(await apps.get(platform.name), connectedOf(site, connection));
  if (!app || app.endpoint !== endpoint)
    throw new NoTokens('The OAuth app or the endpoint was changed meanwhile. Sign in again.');
  const client = new PlatformClient(settings.outboundAllowPrivate);
  try {
    const exchange = { code, redirectUri, ...(authorization.pkce && { verifier }) };
    const tokens = await exchangeCode(client, platform, app, exchange);
    const filled = authorization.settings(app, tokens, postgres.clock.nowMs());
    if (!filled)
      throw new NoTokens('The platform gave no refresh token. Remove the access of the app there, and sign in again.');
    return { endpoint, accessToken: tokens.accessToken, settings: filled };
  } finally {
    await client.close();
  }
}

function codeOf(answer: URLSearchParams, parameter: string): string {
  const error = answer.get('error') ?? '';
  if (CANCELLED.includes(error)) throw new NoTokens('Access was not given at the platform.');
  // Only the name of an error: its description may be any text.
  if (error !== '') throw new NoTokens(`The platform refused: ${/^\w{1,60}$/.test(error) ? error : 'unknown error'}`);
  const code = answer.get(parameter);
  if (!code || code.length > CODE_MAX) throw new NoTokens('Access was not given at the platform.');
  return code;
}

function connectedOf({ connections }: Site, name: ConnectionName) {
  return connections.find(({ platform, disconnected }) => platform === name && !disconnected);
}
