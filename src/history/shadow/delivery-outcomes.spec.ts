import { sampleReceived } from '../../delivery/payload/sample-conversion.js';
import { withOptOut } from '../../delivery/received-conversion.js';
import type { SiteSettings } from '../../events/site.events.js';
import type { Site } from '../../sites/site.js';
import { recordedOutcomes, simulatedOutcomes } from './delivery-outcomes.js';

describe('the outcomes of a shadow replay', () => {
  const connections = ['meta', 'webhook'].map((platform) => ({ platform, settings: {}, versions: [] }));
  const denied = { type: 'conversion.received.v1', ...withOptOut(sampleReceived(0)) } as never;
  const statusesWith = (withhold: SiteSettings['withhold'], rules: Partial<SiteSettings> = {}) => {
    const site = { connections, settings: { withhold } } as unknown as Site;
    const outcomes = simulatedOutcomes(denied, site, { settings: {}, site: rules }, new Map());
    return [...outcomes.values()].map(({ status }) => status);
  };
  const SKIPPED = 'skipped: consent_denied';

  it('follow what the site withholds, or would withhold, without consent', () => {
    expect(statusesWith('identifiers')).toEqual(['sent', 'sent']);
    expect(statusesWith('personal')).toEqual([SKIPPED, 'sent']);
    expect(statusesWith('everything')).toEqual([SKIPPED, SKIPPED]);
    expect(statusesWith('identifiers', { withhold: 'personal' })).toEqual([SKIPPED, 'sent']);
  });

  it('leave out what the platform refused, and keep the event id that an operator forced', () => {
    const site = { connections, settings: {} } as unknown as Site;
    const received = { type: 'conversion.received.v1', stream: 's', ...sampleReceived(0) } as never;
    const simulate = (recorded: ReturnType<typeof recordedOutcomes>) =>
      simulatedOutcomes(received, site, { settings: {} }, recorded).get('meta')?.bodySha256;
    const recordedWith = (terms: object) =>
      recordedOutcomes([received, { type: 'conversion.delivered.v1', data: { platform: 'meta', ...terms } } as never]);
    const digests = [{}, { without: ['address'] }].map((terms) => simulate(recordedWith(terms)));
    const requested = {
      type: 'conversion.send_requested.v1',
      data: { platform: 'meta', attempt: 1, eventId: 'ORD-1-r2' },
    } as never;
    digests.push(simulate(recordedOutcomes([received, requested])));
    expect(digests[0]).toBeDefined();
    expect(new Set(digests).size).toBe(3);
  });
});
