import { listAccount, listingClient } from '../delivery/connections/account-listing.js';
import type { AccountOptions } from '../platforms/account-options.js';
import type { Connection, Platform } from '../platforms/platform.js';
import { appOf } from './oauth-apps.js';
import type { SignIn } from './platform-sign-ins.js';
import { type SignInDependencies, signInPlatform } from './sign-in-flow.js';

/** What the person has entered so far, and the account whose contents are listed. */
interface OptionsRequest {
  readonly settings: Readonly<Record<string, string>>;
  readonly account?: string | undefined;
}

/** Lists what the account of a sign-in has, before there is a connection. Undefined if the sign-in has no tokens. */
export async function listSignedIn(
  { settings, postgres, apps, signIns }: SignInDependencies,
  signIn: Pick<SignIn, 'id' | 'userId' | 'site' | 'connection'>,
  request: OptionsRequest,
): Promise<AccountOptions | undefined> {
  const access = await signIns.granted(signIn.id, signIn);
  if (!access) return undefined;
  const platform = signInPlatform(signIn.connection);
  const { endpoint, accessToken } = access;
  const connection = enteredConnection(platform, request.settings, endpoint);
  const app = appOf(await apps.get(platform.name), { endpoint });
  const client = listingClient(settings.outboundAllowPrivate);
  try {
    const options = { accessToken, app, account: request.account, nowMs: postgres.clock.nowMs() };
    return await listAccount(platform, connection, client, options);
  } finally {
    await client.close();
  }
}

/** Some platforms list only with a secret that no sign-in gives, such as a developer token. */
function enteredConnection(
  { fields }: Platform,
  entered: Readonly<Record<string, string>>,
  endpoint: string | undefined,
): Connection {
  const valid = fields.filter(({ name, check }) => entered[name] && check?.(entered[name]) === undefined);
  const valuesOf = (secret: boolean) =>
    Object.fromEntries(
      valid.filter((field) => (field.secret ?? false) === secret).map(({ name }) => [name, entered[name] as string]),
    );
  return { settings: valuesOf(false), secrets: valuesOf(true), endpoint };
}
