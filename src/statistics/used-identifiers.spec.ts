import { PLATFORMS, platformOf } from '../platforms/index.js';
import type { Platform } from '../platforms/platform.js';
import { usedIdentifiers } from './used-identifiers.js';

const usedBy = (name: string, settings: Record<string, string> = {}) =>
  usedIdentifiers(platformOf(name) as Platform, settings);

describe('usedIdentifiers', () => {
  it('has the click ids, cookies and fields that Meta gets', () => {
    expect(usedBy('meta', { pixel_id: '1' })).toEqual(
      expect.arrayContaining([
        { identifier: 'click_id', anyOf: ['fbclid'] },
        { identifier: 'cookie', anyOf: ['_fbp'] },
        ...['email', 'phone', 'external_id', 'ip_address', 'user_agent', 'first_name', 'city', 'country'].map(
          (identifier) => ({ identifier, anyOf: [identifier] }),
        ),
      ]),
    );
  });

  it('has each click id of Google', () => {
    const used = usedBy('google_ads', { customer_id: '1234567890', 'event.purchase': '987' });
    expect(used).toContainEqual({ identifier: 'click_id', anyOf: ['gclid', 'gbraid', 'wbraid'] });
    expect(used).toContainEqual({ identifier: 'phone', anyOf: ['phone'] });
  });

  it('does not depend on which events a connection sends', () => {
    expect(usedBy('meta', { pixel_id: '1', events: 'lead' })).toEqual(usedBy('meta', { pixel_id: '1' }));
  });

  it.each(PLATFORMS.map(({ name }) => name))('knows some identifier of %s', (name) => {
    expect(usedBy(name).length).toBeGreaterThan(0);
  });
});
