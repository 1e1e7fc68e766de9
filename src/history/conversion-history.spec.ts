import { InMemoryLog } from '../../test/support/in-memory-log.js';
import { ConversionEvents } from '../../test/support/statistics.js';
import { SiteRepository } from '../sites/site-repository.js';
import type { SiteSecrets } from '../sites/site-secrets.js';
import { conversionHistory, requireConversion } from './conversion-history.js';

const HOST = 'shop.example';
const JANE = 'aa'.repeat(32);

describe('the history of a conversion', () => {
  it('has the visit and the consent of a visit that was identified later', async () => {
    const log = new InMemoryLog();
    const sites = new SiteRepository(log);
    await sites.add(HOST, 'cli', () => ({ type: 'site.registered.v1', data: { host: HOST, aliases: [] } }));
    const events = new ConversionEvents(log, HOST);
    const dependencies = { log, sites, secrets: {} as SiteSecrets };
    const shown = async (id: string) =>
      conversionHistory(dependencies, await requireConversion(log, { host: HOST }, id));
    const id = await events.decided('received', JANE, { platforms: ['meta'] });
    expect(await shown(id)).toMatchObject({ match: null, consent: null });
    await events.outcome(id, 'skipped', 'meta');
    await events.reopened(id, JANE, { source: 'newsletter' });
    expect(await shown(id)).toMatchObject({ match: { utm: { source: 'newsletter' } }, consent: 'unknown' });
  });
});
