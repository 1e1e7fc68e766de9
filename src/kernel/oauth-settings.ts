import { UserError } from './errors.js';

/** Platforms at which people sign in with an OAuth app of the operator. */
export const OAUTH_PLATFORMS = [
  'google_ads',
  'meta',
  'tiktok',
  'microsoft_ads',
  'linkedin',
  'pinterest',
  'snapchat',
  'reddit',
] as const;
type OauthPlatform = (typeof OAUTH_PLATFORMS)[number];

export interface OauthAppSetting {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The variables of a platform's app. */
export function oauthSettingNames(platform: string): OauthAppSetting {
  const prefix = `${platform.toUpperCase()}_OAUTH_CLIENT`;
  return { clientId: `${prefix}_ID`, clientSecret: `${prefix}_SECRET` };
}

type Field = `${OauthPlatform}${'ClientId' | 'ClientSecret'}`;

/** Two settings for each platform. */
export function oauthDefinitions<Definition>(define: (name: string, description: string) => Definition) {
  const definitions = OAUTH_PLATFORMS.flatMap((platform) => {
    const { clientId, clientSecret } = oauthSettingNames(platform);
    const id = `Client id of your OAuth app for ${platform}, to [sign in there](api.md#sign-in-at-a-platform).`;
    return [
      [`${platform}ClientId`, define(clientId, id)] as const,
      [`${platform}ClientSecret`, define(clientSecret, 'Client secret of that app.')] as const,
    ];
  });
  return Object.fromEntries(definitions) as Record<Field, Definition>;
}

/** The apps by platform. Throws if one of the two settings is missing. */
export function oauthAppsOf(values: Readonly<Record<Field, string | undefined>>) {
  const apps: Partial<Record<string, OauthAppSetting>> = {};
  for (const platform of OAUTH_PLATFORMS) {
    const { [`${platform}ClientId` as const]: clientId, [`${platform}ClientSecret` as const]: clientSecret } = values;
    if (!clientId !== !clientSecret) {
      const names = oauthSettingNames(platform);
      throw new UserError(`${names.clientId} and ${names.clientSecret} go together: set both, or neither.`);
    }
    if (clientId && clientSecret) apps[platform] = { clientId, clientSecret };
  }
  return apps;
}
