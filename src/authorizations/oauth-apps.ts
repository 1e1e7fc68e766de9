import { isLoopbackHost } from '../kernel/addresses.js';
import type { Actor } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import type { Sealer } from '../kernel/sealing.js';
import { oauthSettingNames } from '../kernel/settings/oauth-settings.js';
import type { Settings } from '../kernel/settings/settings.js';
import type { OauthApp, PlatformName } from '../platforms/platform.js';
import type { Postgres } from '../postgres/postgres.js';
import { SiteSecrets } from '../sites/site-secrets.js';
import { inTransaction } from '../users/transaction.js';

/** The apps belong to no site. */
const SITE = '';
const FIELD = 'oauth_app';

/** What a sandbox gets: it accepts any credentials, and must not see those of a real app. */
const SANDBOX_APP: OauthApp = { clientId: 'sandbox-client', clientSecret: 'sandbox-client-secret' };

/** Who changes an app. */
interface AppChange {
  readonly actor: Actor;
  readonly userId: string;
}

/** The operator's OAuth apps: those of the settings, and those that administrators stored, sealed with the secrets of sites. */
export class OauthApps {
  constructor(
    private readonly postgres: Postgres,
    private readonly sealer: Sealer,
    private readonly settings: Pick<Settings, 'oauthApps'>,
  ) {}

  async get(platform: PlatformName): Promise<OauthApp | undefined> {
    return this.ofSettings(platform) ?? (await this.stored(platform));
  }

  ofSettings(platform: PlatformName): OauthApp | undefined {
    return this.settings.oauthApps[platform];
  }

  /** The app and the event are stored together, or neither is. */
  async set(platform: PlatformName, app: OauthApp, { actor, userId }: AppChange): Promise<void> {
    this.requireChangeable(platform);
    const { clientId, endpoint } = app;
    await inTransaction(this.postgres, actor, async (client, record) => {
      const secrets = new SiteSecrets(client, this.sealer);
      await secrets.storeConnectionSecrets(SITE, platform, { [FIELD]: JSON.stringify(app) });
      await record(userId, { type: 'user.oauth_app_set.v1', data: { platform, clientId, endpoint } });
    });
  }

  async remove(platform: PlatformName, { actor, userId }: AppChange): Promise<void> {
    this.requireChangeable(platform);
    if (!(await this.stored(platform))) return;
    await inTransaction(this.postgres, actor, async (client, record) => {
      await new SiteSecrets(client, this.sealer).deleteConnectionSecrets(SITE, platform, [FIELD]);
      await record(userId, { type: 'user.oauth_app_removed.v1', data: { platform } });
    });
  }

  private async stored(platform: PlatformName): Promise<OauthApp | undefined> {
    const secrets = new SiteSecrets(this.postgres.pool, this.sealer);
    const { [FIELD]: text } = await secrets.connectionSecrets(SITE, platform);
    return text === undefined ? undefined : (JSON.parse(text) as OauthApp);
  }

  private requireChangeable(platform: PlatformName): void {
    if (!this.ofSettings(platform)) return;
    const { clientId, clientSecret } = oauthSettingNames(platform);
    throw new UserError(`The OAuth app for ${platform} is set by ${clientId} and ${clientSecret}. Change it there.`);
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
