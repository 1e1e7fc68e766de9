import { DEFAULT_SITE_SETTINGS, SITE_FLAGS } from '../../sites/site-settings.js';
import { settingsChangeSchema, settingsRequest, siteSettingsSchema } from './site-settings.schema.js';

describe('settings of a site in the API', () => {
  it('are all settings that a site has', () => {
    const settings = Object.keys(DEFAULT_SITE_SETTINGS).sort();
    expect(Object.keys(siteSettingsSchema.shape).sort()).toEqual(settings);
    expect(Object.keys(settingsChangeSchema.shape).sort()).toEqual(settings);
    expect(
      Object.values(SITE_FLAGS)
        .map(({ setting }) => setting)
        .sort(),
    ).toEqual(settings);
  });

  it('are changed as on the command line', () => {
    const change = settingsChangeSchema.parse({
      dedupWindow: '48h',
      botThreshold: 0,
      consentRequired: false,
      country: null,
      blocked: { add: ['@spam.example'], remove: ['@fine.example'] },
    });
    expect(settingsRequest(change)).toEqual({
      set: [
        { flag: 'dedup-window', value: '48h' },
        { flag: 'bot-threshold', value: '0' },
        { flag: 'consent-required', value: 'no' },
        { flag: 'block', value: '@spam.example' },
      ],
      unset: ['country', 'block=@fine.example'],
    });
  });
});
