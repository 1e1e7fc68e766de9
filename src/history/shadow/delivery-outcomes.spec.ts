import { sampleReceived } from '../../delivery/payload/sample-conversion.js';
import { withOptOut } from '../../delivery/received-conversion.js';
import type { SiteSettings } from '../../events/site.events.js';
import type { Site } from '../../sites/site.js';
import { simulatedOutcomes } from './delivery-outcomes.js';

describe('the outcomes of a shadow replay', () => {
  const connections = ['meta', 'webhook'].map((platform) => ({ platform, settings: {}, versions: [] }));
  const denied = { type: 'conversion.received.v1', ...withOptOut(sampleReceived(0)) } as never;
  const statusesWith = (withhold: SiteSettings['withhold'], rules: Partial<SiteSettings> = {}) => {
    const site = { connections, settings: { withhold } } as unknown as Site;
    const outcomes = simulatedOutcomes(denied, site, { settings: {}, site: rules });
    return [...outcomes.values()].map(({ status }) => status);
  };
  const SKIPPED = 'skipped: consent_denied';

  it('follow what the site withholds, or would withhold, without consent', () => {
    expect(statusesWith('identifiers')).toEqual(['sent', 'sent']);
    expect(statusesWith('personal')).toEqual([SKIPPED, 'sent']);
    expect(statusesWith('everything')).toEqual([SKIPPED, SKIPPED]);
    expect(statusesWith('identifiers', { withhold: 'personal' })).toEqual([SKIPPED, 'sent']);
  });
});
