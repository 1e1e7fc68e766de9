import { NoResponse, type PlatformClient } from '../delivery/connections/platform-client.js';
import { joined, redact, textAt } from '../platforms/common-verdict.js';
import { hideSecrets } from '../platforms/hide-secrets.js';
import type { BuiltInPlatform } from '../platforms/index.js';
import type {
  Authorization,
  CodeExchange,
  GrantedTokens,
  OauthApp,
  PlatformRequest,
  PlatformResponse,
} from '../platforms/platform.js';

/** The platform gave no tokens. The message has no secret, and is for the person who signed in. */
export class NoTokens extends Error {
  override readonly name = 'NoTokens';
}

/** A platform at which people sign in. */
export type SignInPlatform = BuiltInPlatform & { readonly authorization: Authorization };

/** Exchanges an authorization code for tokens. A code can be used once, so nothing is repeated after a failure. */
export async function exchangeCode(
  client: PlatformClient,
  platform: SignInPlatform,
  app: OauthApp,
  code: CodeExchange,
): Promise<GrantedTokens> {
  const { authorization } = platform;
  const secrets = [app.clientSecret, code.code, code.verifier];
  const first = await request(client, platform, app, authorization.exchange(app, code), secrets);
  if (!authorization.extend) return first;
  const { accessToken, refreshToken } = first;
  return request(client, platform, app, authorization.extend(app, accessToken), [
    ...secrets,
    accessToken,
    refreshToken,
  ]);
}

async function request(
  client: PlatformClient,
  platform: SignInPlatform,
  { endpoint }: OauthApp,
  post: PlatformRequest,
  secrets: readonly (string | undefined)[],
): Promise<GrantedTokens> {
  const response = await client.request(platform, post, { settings: {}, secrets: {}, endpoint }).catch((error) => {
    throw error instanceof NoResponse ? new NoTokens(`The platform did not answer: ${error.message}`) : error;
  });
  const tokens = response.status === 200 ? platform.authorization.tokens(response.json) : undefined;
  if (!tokens) throw new NoTokens(refusalOf(response, hideSecrets(secrets)));
  return tokens;
}

function refusalOf({ status, json }: PlatformResponse, hide: (text: string) => string): string {
  const error = textAt(json, 'error') ?? textAt(json, 'error', 'message');
  const words = joined(error, textAt(json, 'error_description') ?? textAt(json, 'message'));
  return `The platform gave no token: HTTP ${status}${words === undefined ? '' : `, ${redact(hide(words))}`}`;
}
