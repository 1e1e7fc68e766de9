import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { list as isbotPatterns } from 'isbot';
import { type SiteSettings } from '../../events/site.events.js';
import { type VisitSignals } from '../../events/visitor.events.js';
import { DEFAULT_SITE_SETTINGS } from '../../sites/site-settings.js';
import { loadBotList } from './bot-list.js';
import { BotScorer, siteRulesOf } from './bot-scorer.js';
import { RULES, WEIGHTS } from './weights.js';

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
const PHONE =
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36';
/** An address of a data centre. */
const HOSTED = '3.85.1.1';

const scorer = new BotScorer(loadBotList());
const rulesOf = (settings: Partial<SiteSettings> = {}) => siteRulesOf({ ...DEFAULT_SITE_SETTINGS, ...settings });
const NO_RULES = rulesOf();
const verdictOf = (signals: VisitSignals, settings?: Partial<SiteSettings>) => scorer.score(signals, rulesOf(settings));
const isFiltered = (signals: VisitSignals) => verdictOf(signals).score >= DEFAULT_SITE_SETTINGS.botThreshold;

/** A person at a desktop computer who fills in a form. */
const PERSON: VisitSignals = {
  userAgent: CHROME,
  ip: '198.51.100.7',
  headers: { acceptLanguage: true, secFetch: true },
  webdriver: false,
  automation: [],
  languages: 2,
  screen: [1920, 1080],
  viewport: [1903, 969],
  touch: 0,
  plugins: 5,
  hidden: false,
  loadedMs: 840,
  submitMs: 21_000,
  identifiedBy: 'form',
  interactions: 57,
  honeypot: false,
};

describe('a person', () => {
  it('has score 0 and no reasons', () => {
    expect(verdictOf(PERSON)).toEqual({ score: 0, reasons: [], list: `${loadBotList().version}/rules-${RULES}` });
  });

  it.each<[string, Partial<VisitSignals>, string[]]>([
    ['through the VPN of a company that runs in a cloud', { ip: HOSTED }, ['datacenter']],
    [
      'with a virtual desktop in a cloud, without the PDF viewer',
      { ip: HOSTED, plugins: 0 },
      ['no_plugins', 'datacenter'],
    ],
    [
      'whose password manager submits the form at once',
      { loadedMs: 300, submitMs: 200, interactions: 0 },
      ['impossible_timing'],
    ],
    [
      'who was logged in already, through a VPN',
      { identifiedBy: 'call', loadedMs: 300, submitMs: 2, interactions: 0, ip: HOSTED },
      ['datacenter'],
    ],
    [
      'whose slow phone ran the tag after the form was filled in, through a VPN',
      { loadedMs: 9_000, submitMs: 150, interactions: 0, ip: HOSTED },
      ['datacenter'],
    ],
    ['who uses voice control, through a VPN', { submitMs: 40_000, interactions: 0, ip: HOSTED }, ['datacenter']],
    ['who opened the page in the background', { hidden: true, viewport: [0, 0] }, []],
    [
      'behind a proxy that strips headers',
      { headers: { acceptLanguage: false, secFetch: false } },
      ['no_sec_fetch', 'no_accept_language'],
    ],
    [
      'with a phone that requests desktop pages',
      { touch: 5, plugins: 0, screen: [412, 915], viewport: [980, 2176] },
      [],
    ],
    [
      'with a browser that reports almost no signals',
      { headers: {}, languages: undefined, screen: undefined, plugins: undefined } as never,
      [],
    ],
    ['without User-Agent and address', { userAgent: undefined, ip: undefined } as never, []],
  ])('%s is not filtered', (_, signals, reasons) => {
    const all = { ...PERSON, ...signals };
    expect(verdictOf(all).reasons).toEqual(reasons);
    expect(isFiltered(all)).toBe(false);
  });
});

describe('a bot', () => {
  it.each<[string, Partial<VisitSignals>, string[]]>([
    [
      'that declares itself as a crawler',
      { userAgent: 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)' },
      ['declared_crawler'],
    ],
    ['that is an HTTP client', { userAgent: 'curl/8.5.0' }, ['http_client']],
    ['that is a headless browser', { userAgent: CHROME.replace('Chrome', 'HeadlessChrome') }, ['headless']],
    ['that sets navigator.webdriver', { webdriver: true }, ['automation']],
    ['that leaves automation globals in the page', { automation: ['other', 'callPhantom'] }, ['automation']],
    ['that fills in the honeypot field', { honeypot: true }, ['honeypot']],
    ['without a User-Agent', { userAgent: '' }, ['no_user_agent']],
    [
      'that submits too fast, in a data centre',
      { ip: HOSTED, loadedMs: 120, submitMs: 60, interactions: 0 },
      ['impossible_timing', 'datacenter'],
    ],
    [
      'that pretends to be a phone, in a data centre',
      { userAgent: PHONE, ip: HOSTED },
      ['phone_without_touch', 'datacenter'],
    ],
    [
      'that sends no Accept-Language, in a data centre',
      { ip: HOSTED, headers: { acceptLanguage: false } },
      ['no_accept_language', 'datacenter'],
    ],
    [
      'with a bare automated browser',
      { plugins: 0, languages: 0, screen: [800, 600], viewport: [800, 600] },
      ['no_plugins', 'odd_screen', 'no_languages'],
    ],
    [
      'without a screen and without Sec-Fetch headers',
      { screen: [0, 0], headers: { secFetch: false } },
      ['no_sec_fetch', 'odd_screen'],
    ],
  ])('%s is filtered', (_, signals, reasons) => {
    const all = { ...PERSON, ...signals };
    expect(verdictOf(all).reasons).toEqual(reasons);
    expect(isFiltered(all)).toBe(true);
  });
});

describe("a site's own rules", () => {
  it.each<[string, Partial<SiteSettings>, Partial<VisitSignals>]>([
    ['blocked_ip', { blockIps: ['203.0.113.0/24,2001:db8::/32'] }, { ip: '2001:db8::5' }],
    ['blocked_user_agent', { blockUserAgents: ['ShopWatch'] }, { userAgent: `${CHROME} shopwatch/2` }],
    ['blocked_country', { blockCountries: ['FR'] }, { country: 'fr' }],
  ])('%s gives the highest score', (reason, settings, signals) => {
    expect(verdictOf({ ...PERSON, ...signals }, settings)).toMatchObject({ score: 100, reasons: [reason] });
    expect(verdictOf(PERSON, settings)).toMatchObject({ score: 0, reasons: [] });
  });

  it('accept an allow-listed address despite all other signals', () => {
    const settings = { allowIps: ['203.0.113.9'], blockIps: ['203.0.113.0/24'] };
    const signals = { userAgent: 'curl/8.5.0', ip: '203.0.113.9', webdriver: true };
    expect(verdictOf(signals, settings)).toMatchObject({ score: 0, reasons: ['allowed_ip'] });
    expect(verdictOf({ ...signals, ip: '203.0.113.8' }, settings).score).toBe(100);
  });

  it('are parsed once per settings object', () => {
    const settings = { ...DEFAULT_SITE_SETTINGS };
    expect(siteRulesOf(settings)).toBe(siteRulesOf(settings));
    expect(siteRulesOf({ ...settings, blockIps: ['10.0.0.1'] })).not.toBe(siteRulesOf(settings));
  });
});

describe('the weights', () => {
  it('keep every weak reason below the default threshold', () => {
    const weak = [
      'impossible_timing',
      'phone_without_touch',
      'odd_screen',
      'no_languages',
      'datacenter',
      'no_accept_language',
      'no_sec_fetch',
      'no_plugins',
    ] as const;
    for (const reason of weak) expect(WEIGHTS[reason]).toBeLessThan(DEFAULT_SITE_SETTINGS.botThreshold);
  });

  it('match the table in docs/bots.md', () => {
    const page = readFileSync(join(process.cwd(), 'docs/bots.md'), 'utf8');
    const listed = [...page.matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(([, reason, weight]) => [
      reason,
      Number(weight),
    ]);
    expect(listed).toEqual(Object.entries(WEIGHTS));
  });

  it('change only together with the version of the rules, as do the patterns of isbot', () => {
    // After such a change: increment RULES and update the expected values.
    const content = JSON.stringify([WEIGHTS, isbotPatterns]);
    expect([RULES, createHash('sha256').update(content).digest('hex').slice(0, 16)]).toEqual([1, '4d709a016ae0ebb0']);
  });
});

/** Arbitrary signals, biased towards values that the rules check. */
const userAgent = fc.oneof(fc.constantFrom(CHROME, PHONE, 'curl/8.5.0', ''), fc.string());
const ip = fc.oneof(fc.constantFrom(HOSTED, '203.0.113.9', '2a01:4f8::1', 'nonsense'), fc.ipV4(), fc.ipV6());
const count = fc.oneof(fc.constant(0), fc.integer(), fc.double());
const pair = fc.oneof(fc.constantFrom([0, 0], [800, 600]), fc.tuple(count, count)) as fc.Arbitrary<[number, number]>;
const signalsOf = fc.record(
  {
    userAgent,
    ip,
    country: fc.constantFrom('DE', 'FR', 'fr', ''),
    headers: fc.record({ acceptLanguage: fc.boolean(), secFetch: fc.boolean() }, { requiredKeys: [] }),
    webdriver: fc.boolean(),
    automation: fc.array(fc.oneof(fc.constantFrom('cdc', 'selenium'), fc.string())),
    languages: count,
    screen: pair,
    viewport: pair,
    touch: count,
    plugins: count,
    hidden: fc.boolean(),
    loadedMs: count,
    submitMs: count,
    identifiedBy: fc.constantFrom('form', 'call'),
    interactions: count,
    honeypot: fc.boolean(),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<VisitSignals>;
const settingsOf = fc.record({
  blockIps: fc.subarray(['203.0.113.0/24', '0.0.0.0/0', '::/0']),
  allowIps: fc.subarray(['203.0.113.9', '2a01:4f8::/32']),
  blockUserAgents: fc.subarray(['curl', 'Windows']),
  blockCountries: fc.subarray(['FR']),
});

/** Each adds a reason, whatever the other signals are. */
const BOT_SIGNS: readonly Partial<VisitSignals>[] = [
  { webdriver: true },
  { automation: ['cdc'] },
  { honeypot: true },
  { languages: 0 },
  { screen: [0, 0] },
  { identifiedBy: 'form', loadedMs: 100, submitMs: 50, interactions: 0 },
];

describe('arbitrary signals', () => {
  it('get a score from 0 to 100: the sum of distinct reasons', () => {
    fc.assert(
      fc.property(signalsOf, settingsOf, (signals, settings) => {
        const { score, reasons } = verdictOf(signals, settings);
        expect(score).toBe(
          Math.min(
            100,
            reasons.reduce((sum, reason) => sum + WEIGHTS[reason], 0),
          ),
        );
        expect(new Set(reasons).size).toBe(reasons.length);
      }),
    );
  });

  it('get the same verdict from another scorer', () => {
    const other = new BotScorer(loadBotList());
    fc.assert(
      fc.property(signalsOf, settingsOf, (signals, settings) => {
        expect(other.score(signals, rulesOf(settings))).toEqual(verdictOf(signals, settings));
      }),
    );
  });

  it('are accepted from an allow-listed address only', () => {
    fc.assert(
      fc.property(signalsOf, settingsOf, (signals, settings) => {
        const allowed = verdictOf({ ...signals, ip: '203.0.113.9' }, { ...settings, allowIps: ['203.0.113.9'] });
        expect(allowed).toMatchObject({ score: 0, reasons: ['allowed_ip'] });
        expect(verdictOf({ ...signals, ip: '203.0.113.10' }, settings).reasons).not.toContain('allowed_ip');
      }),
    );
  });

  it('never get a lower score for one more bot signal', () => {
    fc.assert(
      fc.property(signalsOf, settingsOf, fc.constantFrom(...BOT_SIGNS), (signals, settings, sign) => {
        expect(verdictOf({ ...signals, ...sign }, settings).score).toBeGreaterThanOrEqual(
          verdictOf(signals, settings).score,
        );
      }),
    );
  });

  it('are scored without an exception, even with wrong types', () => {
    const names = Object.keys(PERSON) as (keyof VisitSignals)[];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), fc.anything({ withNullPrototype: true })), (signals) => {
        expect(scorer.score(signals as VisitSignals, NO_RULES).score).toBeLessThanOrEqual(100);
      }),
    );
  });
});
