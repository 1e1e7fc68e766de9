import { randomBytes, randomUUID } from 'node:crypto';
import { CLICK_KINDS } from '../src/platforms/click-ids.js';
import { UTM_FIELDS } from '../src/visitors/tag/tag-message.js';
import { createDatabase } from './support/databases.js';
import { openOperator, startTestService } from './support/service.js';
import { BROWSER, callTag, visitorCookie } from './support/tag-calls.js';

const UNLIMITED = '999999999/999999999/999999999';
const MEGABYTES = 2;
const CONSENT = { ad_storage: 'denied', ad_user_data: 'denied', ad_personalization: 'denied', gpc: true };

const random = (length: number) => randomBytes(length).toString('base64url').slice(0, length);
const texts = (length: number) => Object.fromEntries(UTM_FIELDS.map((name) => [name, random(length)]));
const clicks = (length: number) =>
  Object.fromEntries(CLICK_KINDS.map((kind) => [kind, { id: random(length), page: `https://x.example/${random(8)}` }]));
const ids = () => ({ v: 1, visitor: randomUUID(), visit: randomUUID() });
const hash = () => randomBytes(32).toString('hex');
const JANE = hash();

describe('the calls of one address of an anonymous caller', () => {
  it.each([
    ['large visits', 'collect', () => ({ ...ids(), clicks: clicks(180), utm: texts(180) }), BROWSER],
    ['small visits', 'collect', () => ({ ...ids(), clicks: { gclid: { id: random(8) } } }), BROWSER],
    [
      'large visits of one visitor',
      'collect',
      () => ({ ...ids(), clicks: clicks(180), utm: texts(180) }),
      BROWSER,
      'cookie',
    ],
    ['visits of bots', 'collect', () => ({ ...ids(), utm: { source: 'x' } }), `curl/8 ${'x'.repeat(500)}`],
    ['identifications', 'identify', () => ({ ...ids(), hash: hash(), clicks: clicks(180) }), BROWSER],
    ['identifications of one person', 'identify', () => ({ ...ids(), hash: JANE, clicks: clicks(180) }), BROWSER],
    ['consents', 'consent', () => ({ ...ids(), hash: hash(), statement: randomUUID(), consent: CONSENT }), BROWSER],
  ] as const)('add at most the bytes of TAG_BUDGET_STORAGE to the database in an hour: %s', async (...row) => {
    const [, call, bodyOf, agent, cookies] = row;
    let cookie: string | undefined;
    const databaseUrl = await createDatabase();
    const service = await startTestService(databaseUrl, {
      ...{ TRUSTED_PROXIES: '127.0.0.1', COLLECT_RATE: '100000', COLLECT_BURST: '1000000' },
      ...{ TAG_BUDGET_ADDRESS: UNLIMITED, TAG_BUDGET_VISITOR: UNLIMITED, TAG_BUDGET_SITE: UNLIMITED },
      ...{ TAG_BUDGET_PERSON: '1000000', TAG_BUDGET_STORAGE: String(MEGABYTES) },
    });
    const operator = await openOperator(databaseUrl);
    try {
      const site = await operator.openSite();
      await service.refreshSites();
      const size = async () => {
        const { rows } = await operator.postgres.pool.query('SELECT pg_database_size(current_database()) AS bytes');
        return Number(rows[0].bytes);
      };
      const collect = async (address: string) => {
        const headers = { 'User-Agent': agent, 'X-Forwarded-For': address, Cookie: cookie };
        const answer = await callTag(service, site, call, { ...bodyOf(), signals: undefined }, { headers });
        if (cookies) cookie = visitorCookie(answer);
        return answer;
      };
      const before = await size();
      let reply = await collect('198.51.100.1');
      for (let calls = 1; reply.status === 204 && calls < 2_000; calls += 1) reply = await collect('198.51.100.1');
      expect([reply.status, Number(reply.headers['retry-after'])]).toEqual([429, expect.any(Number)]);
      expect((await collect('198.51.100.2')).status).toBe(204);
      // Half of an hour's bytes may be used at once.
      expect((await size()) - before).toBeLessThan((MEGABYTES * 1_000_000) / 2);
    } finally {
      await service.stop();
      await operator.close();
    }
  });
});
