import type { Settings } from '../platforms/platform.js';
import type { SiteConnection } from '../sites/connections/connection.js';
import { routeOf } from './received-events.js';

const connection = (platform: SiteConnection['platform'], settings: Settings): SiteConnection => ({
  ...{
    platform,
    settings,
    state: 'active',
    secretNames: [],
    version: 1,
    versions: [],
    since: '2026-01-01T00:00:00.000Z',
  },
});
const GOOGLE = { customer_id: '1234567890', 'event.purchase': '111' };

describe('routeOf', () => {
  it('tells an event that a connection maps from one that goes nowhere', () => {
    expect(routeOf(connection('google_ads', GOOGLE), 'purchase')).toEqual({ platform: 'google_ads', state: 'sent' });
    expect(routeOf(connection('google_ads:second', GOOGLE), 'newsletter_open')).toEqual({
      ...{ platform: 'google_ads:second', state: 'not_mapped' },
    });
  });

  it('suggests what the standard event is mapped to', () => {
    expect(routeOf(connection('google_ads', GOOGLE), 'order_completed')).toEqual({
      ...{ platform: 'google_ads', state: 'not_mapped', suggestion: { event: 'purchase', value: '111' } },
    });
    expect(routeOf(connection('google_ads', GOOGLE), 'contact_form').suggestion).toBeUndefined();
  });

  it('suggests the name of the platform, also for an event that it takes as a custom one', () => {
    expect(routeOf(connection('pinterest', { ad_account_id: '1' }), 'order_completed')).toMatchObject({
      ...{ state: 'not_mapped', suggestion: { event: 'purchase', value: 'checkout' } },
    });
    expect(routeOf(connection('meta', { pixel_id: '1' }), 'order_completed')).toMatchObject({
      ...{ state: 'sent', suggestion: { event: 'purchase', value: 'Purchase' } },
    });
  });

  it('suggests nothing for an event that is mapped, known or left out', () => {
    const meta = (settings: Settings, event: string) =>
      routeOf(connection('meta', { pixel_id: '1', ...settings }), event);
    expect(meta({ 'event.order_completed': 'Donate' }, 'order_completed')).toEqual({ platform: 'meta', state: 'sent' });
    expect(meta({}, 'purchase')).toEqual({ platform: 'meta', state: 'sent' });
    expect(meta({ events: 'purchase' }, 'order_completed')).toEqual({ platform: 'meta', state: 'not_selected' });
  });
});
