import { InMemoryLog } from '../../test/support/in-memory-log.js';
import { VISITOR, type VisitPersonal } from '../events/visitor.events.js';
import { uuidv7 } from '../kernel/uuid.js';
import type { Site } from '../sites/site.js';
import { DEFAULT_SITE_SETTINGS } from '../sites/site-settings.js';
import { loadBotList } from './bots/bot-list.js';
import { BotScorer } from './bots/bot-scorer.js';
import { RescoreVisits } from './rescore-visits.command.js';
import { RescoreVisitsHandler } from './rescore-visits.handler.js';

const site = { host: 'shop.example', settings: DEFAULT_SITE_SETTINGS } as Site;
const scorer = new BotScorer({ ...loadBotList(), version: 'new', crawlers: ['shopwatch'] });
const OLD_VERDICT = { score: 0, reasons: [], list: 'old' };

let log: InMemoryLog;
beforeEach(() => {
  log = new InMemoryLog();
});

async function visit(userAgent: string, subject = 'ab'.repeat(32)): Promise<string> {
  const stream = uuidv7();
  const data = { visit: uuidv7(), clicks: [], campaign: false, bot: OLD_VERDICT };
  const personal: VisitPersonal = { subject, clicks: {}, utm: {}, cookies: {}, signals: { userAgent } };
  await log.append({
    ...{ category: VISITOR, stream, expected: 'new', site: site.host, actor: 'tag' },
    events: [{ type: 'visitor.visited.v1', data, personal }],
  });
  return stream;
}

const rescore = async (apply: boolean) =>
  new RescoreVisitsHandler(log, scorer).execute(new RescoreVisits('cli', site, 0, await log.head(), apply));

describe('RescoreVisits', () => {
  it('reports changed verdicts without appending them', async () => {
    await visit('Mozilla/5.0 ShopWatch/2');
    await visit('Mozilla/5.0 (Windows NT 10.0; rv:115.0) Gecko/20100101 Firefox/115.0');
    const result = await rescore(false);
    expect(result).toMatchObject({ judged: 2, erased: 0, applied: 0 });
    expect(result.changes).toMatchObject([{ before: { score: 0 }, after: { score: 90 }, verdict: 'becomes_bot' }]);
    expect(await log.head()).toBe(2);
  });

  it('appends changed verdicts once when applied', async () => {
    const stream = await visit('Mozilla/5.0 ShopWatch/2');
    expect(await rescore(true)).toMatchObject({ applied: 1 });
    expect(await rescore(true)).toMatchObject({ applied: 0, changes: [] });
    expect(await log.readStream(VISITOR, stream)).toMatchObject([
      {},
      { type: 'visitor.rejudged.v1', version: 2, actor: 'cli', data: { from: 0, bot: { score: 90 }, mode: 'enforce' } },
    ]);
  });
});
