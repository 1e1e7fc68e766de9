import { InMemoryLog } from '../../test/support/in-memory-log.js';
import type { SiteSettings } from '../events/site.events.js';
import type { Site } from '../sites/site.js';
import { DEFAULT_SITE_SETTINGS } from '../sites/site-settings.js';
import { loadBotList } from './bots/bot-list.js';
import { BotScorer } from './bots/bot-scorer.js';
import { ChangeConsent } from './change-consent.command.js';
import { ChangeConsentHandler } from './change-consent.handler.js';
import { RecordVisit } from './record-visit.command.js';
import { RecordVisitHandler } from './record-visit.handler.js';
import { readTagMessage, type TagMessage } from './tag/tag-message.js';
import { callingVisitor, withLandings } from './tag/visitor-cookie.js';

const VISITOR_ID = '5f0c7c1e-8f0a-4a5e-9d3b-0c9a4b1d2e3f';
const VISIT_ID = '0d9f7a52-11c4-4c1e-8a37-3f6f5f0f8b11';
const EMAIL_HASH = 'ab'.repeat(32);
const GRANTED = { ad_storage: 'granted', ad_user_data: 'granted' };
const DENIED = { ad_storage: 'denied' };
const CLICKS = { gclid: { id: 'Cj0', t: 1 } };
const BROWSER = { userAgent: 'Mozilla/5.0 (Windows NT 10.0; rv:115.0) Gecko/20100101 Firefox/115.0' };

const NOW = Date.parse('2026-11-15T12:00:00Z');
/** A cookie that was issued a day ago and holds the landing of CLICKS, an hour ago. */
const COOKIE = withLandings(
  { id: '11111111-2222-4333-8444-555555555555', sinceMs: NOW - 86_400_000, landings: {} },
  CLICKS,
  NOW - 3_600_000,
);

const scorer = new BotScorer(loadBotList());
const messageOf = (fields: object) =>
  readTagMessage({ v: 1, visitor: VISITOR_ID, visit: VISIT_ID, ...fields }, Date.now()) as TagMessage;
const siteWith = (settings: Partial<SiteSettings>) =>
  ({ host: 'shop.example', settings: { ...DEFAULT_SITE_SETTINGS, ...settings } }) as Site;

let log: InMemoryLog;
beforeEach(() => {
  log = new InMemoryLog();
});

const stored = async () =>
  (await log.read()).map(({ type, site, actor, personal }) => ({ type, site, actor, personal }));
const storedTypes = async () => (await log.read()).map(({ type }) => type);

describe('RecordVisit', () => {
  const record = (
    call: 'collect' | 'identify',
    fields: object,
    settings: Partial<SiteSettings> = {},
    request: { userAgent: string } = BROWSER,
    visitor = callingVisitor(undefined, NOW),
  ) =>
    new RecordVisitHandler(log, scorer).execute(
      new RecordVisit('tag', siteWith(settings), call, messageOf(fields), request, visitor),
    );

  it('stores a page view with a click id under the visitor id', async () => {
    await record('collect', { clicks: CLICKS });
    const subject = VISITOR_ID.replaceAll('-', '');
    expect(await stored()).toEqual([
      {
        type: 'visitor.visited.v1',
        site: 'shop.example',
        actor: 'tag',
        personal: expect.objectContaining({ subject, clicks: { gclid: expect.objectContaining({ id: 'Cj0' }) } }),
      },
    ]);
  });

  it('stores an identified visit under the email hash', async () => {
    await record('identify', { hash: EMAIL_HASH });
    expect(await stored()).toMatchObject([{ type: 'visitor.identified.v1', personal: { subject: EMAIL_HASH } }]);
  });

  it('stores the visitor that the cookie proves, and when the service received the landing', async () => {
    const known = callingVisitor(COOKIE, NOW);
    const clicks = { ...CLICKS, fbclid: { id: 'new', t: 1 } };
    await record('collect', { clicks }, {}, BROWSER, known);
    await record('identify', { clicks, hash: EMAIL_HASH }, {}, BROWSER, known);
    await record('identify', { clicks, hash: EMAIL_HASH });
    const visitor = { visitor: COOKIE.id, known: true, sinceMs: COOKIE.sinceMs, browser: VISITOR_ID };
    const landed = { id: 'Cj0', landedMs: NOW - 3_600_000 };
    const events = await stored();
    expect(events).toMatchObject([
      {
        personal: {
          ...visitor,
          subject: COOKIE.id.replaceAll('-', ''),
          clicks: { gclid: landed, fbclid: { landedMs: NOW } },
        },
      },
      { personal: { ...visitor, subject: EMAIL_HASH, clicks: { gclid: landed } } },
      { personal: { known: false, browser: VISITOR_ID, clicks: { gclid: { id: 'Cj0' } } } },
    ]);
    expect(JSON.stringify(events[2])).not.toMatch(/landedMs|sinceMs/);
    expect(events[1]).not.toHaveProperty('personal.clicks.fbclid.landedMs');
  });

  it('stores nothing for a page view without click ids and campaign fields', async () => {
    await record('collect', {});
    expect(await stored()).toEqual([]);
  });

  it.each([
    ['without the required consent', {}, { consentRequired: true }, []],
    ['with denied consent', { consent: DENIED }, {}, []],
    ['with denied consent and an email', { consent: DENIED, hash: EMAIL_HASH }, {}, ['visitor.consent_changed.v1']],
    ['without a visitor id', { visitor: undefined }, {}, []],
    ['with the required consent', { consent: GRANTED }, { consentRequired: true }, ['visitor.visited.v1']],
  ])('stores at most the consent itself %s', async (_, fields, settings, types) => {
    await record('collect', { clicks: CLICKS, ...fields }, settings);
    expect(await storedTypes()).toEqual(types);
  });

  it('stores a bot detection once per visit', async () => {
    const crawler = { userAgent: 'Googlebot/2.1' };
    await record('collect', { clicks: CLICKS }, {}, crawler);
    await record('collect', { clicks: CLICKS }, {}, crawler);
    await record('collect', {}, {}, crawler);
    expect(await storedTypes()).toEqual(['visitor.visited.v1', 'visitor.bot_detected.v1', 'visitor.visited.v1']);
  });
});

describe('ChangeConsent', () => {
  const change = (fields: object, visitor = callingVisitor(undefined, NOW)) =>
    new ChangeConsentHandler(log).execute(new ChangeConsent('tag', siteWith({}), messageOf(fields), visitor));

  it.each([
    ['the email hash', { hash: EMAIL_HASH }, EMAIL_HASH],
    ['the visitor id without an email', {}, VISITOR_ID.replaceAll('-', '')],
  ])('stores the consent under %s', async (_, fields, subject) => {
    await change({ consent: DENIED, ...fields });
    expect(await log.read()).toMatchObject([
      {
        type: 'visitor.consent_changed.v1',
        actor: 'tag',
        data: { visit: VISIT_ID, consent: DENIED },
        personal: { subject, speaker: 'unrecognised' },
      },
    ]);
  });

  it('stores who stated a consent: the id of the statement, or the visitor of the cookie', async () => {
    const known = callingVisitor(COOKIE, NOW);
    const statement = { statement: VISIT_ID };
    await change({ consent: DENIED, hash: EMAIL_HASH, ...statement }, known);
    await change({ consent: GRANTED, hash: EMAIL_HASH, ...statement });
    await change({ consent: DENIED, hash: EMAIL_HASH }, known);
    const speakers = (await log.read()).map(({ personal }) => (personal as { speaker?: string }).speaker);
    expect(speakers).toEqual([speakers[1], expect.stringMatching(/^[0-9a-f]{32}$/), COOKIE.id.replaceAll('-', '')]);
  });

  it.each([
    ['without consent fields', { hash: EMAIL_HASH }],
    ['without an id of the person', { consent: DENIED, visitor: undefined }],
  ])('stores nothing %s', async (_, fields) => {
    await change(fields);
    expect(await stored()).toEqual([]);
  });
});
