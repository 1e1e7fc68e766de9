import { UserError } from '../errors.js';

interface OauthAppSetting {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The variables of a platform's app. */
export function oauthSettingNames(platform: string): OauthAppSetting {
  const prefix = `${platform.toUpperCase()}_OAUTH_CLIENT`;
  return { clientId: `${prefix}_ID`, clientSecret: `${prefix}_SECRET` };
}

/** Two settings for each platform at which people sign in with an OAuth app of the operator, with their descriptions. */
export function oauthDefinitions(platforms: readonly string[]): { name: string; description: string }[] {
  return platforms.flatMap((platform) => {
    const { clientId, clientSecret } = oauthSettingNames(platform);
    const id = `Client id of your OAuth app for ${platform}, to [sign in there](api.md#sign-in-at-a-platform).`;
    return [
      { name: clientId, description: id },
      { name: clientSecret, description: 'Client secret of that app.' },
    ];
  });
}

/** The apps by platform. Throws if one of the two settings is missing. */
export function readOauthApps(environment: NodeJS.ProcessEnv, platforms: readonly string[]) {
  const apps: Partial<Record<string, OauthAppSetting>> = {};
  for (const platform of platforms) {
    const names = oauthSettingNames(platform);
    const { [names.clientId]: clientId, [names.clientSecret]: clientSecret } = environment;
    if (!clientId !== !clientSecret)
      throw new UserError(`${names.clientId} and ${names.clientSecret} go together: set both, or neither.`);
    if (clientId && clientSecret) apps[platform] = { clientId, clientSecret };
  }
  return apps;
}
