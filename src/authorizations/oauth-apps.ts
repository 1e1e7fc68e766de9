import { isLoopbackHost } from '../kernel/addresses.js';
import type { OauthApp } from '../platforms/authorization.js';
import type { PlatformName } from '../platforms/platform.js';
import type { SiteSecrets } from '../sites/site-secrets.js';

/** The apps belong to no site. */
const SITE = '';
const FIELD = 'oauth_app';

/** What a sandbox gets: it accepts any credentials, and must not see those of a real app. */
const SANDBOX_APP: OauthApp = { clientId: 'sandbox-client', clientSecret: 'sandbox-client-secret' };

/** The operator's OAuth apps, sealed with the secrets of sites. */
export class OauthApps {
  constructor(private readonly secrets: SiteSecrets) {}

  async get(platform: PlatformName): Promise<OauthApp | undefined> {
    const { [FIELD]: text } = await this.secrets.connectionSecrets(SITE, platform);
    return text === undefined ? undefined : (JSON.parse(text) as OauthApp);
  }

  async set(platform: PlatformName, app: OauthApp): Promise<void> {
    await this.secrets.storeConnectionSecrets(SITE, platform, { [FIELD]: JSON.stringify(app) });
  }

  async remove(platform: PlatformName): Promise<void> {
    await this.secrets.deleteConnectionSecrets(SITE, platform, [FIELD]);
  }
}

/**
 * The app that a connection signs in with: at the connection's own endpoint, or where the app says if there is no connection yet.
 * Undefined if there is no app for this endpoint: it must not see the secret of one that is for another.
 */
export function appOf(
  app: OauthApp | undefined,
  connected: { readonly endpoint?: string | undefined } | undefined,
): OauthApp | undefined {
  const endpoint = connected ? connected.endpoint : app?.endpoint;
  if (endpoint === app?.endpoint) return app;
  if (endpoint !== undefined && isLoopbackHost(new URL(endpoint).hostname)) return { ...SANDBOX_APP, endpoint };
  return undefined;
}
