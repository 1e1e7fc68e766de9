import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { list as isbotPatterns } from 'isbot';
import { type SiteSettings } from '../../events/site.events.js';
import { type VisitSignals } from '../../events/visitor.events.js';
import { DEFAULT_SITE_SETTINGS } from '../../sites/site-settings.js';
import { BotJudge, loadBotList, siteRulesOf } from './judge.js';
import { RULES, WEIGHTS } from './weights.js';

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
const PHONE =
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36';
/** Of a data centre. */
const HOSTED = '3.85.1.1';

const judge = new BotJudge(loadBotList());
const rulesOf = (settings: Partial<SiteSettings> = {}) => siteRulesOf({ ...DEFAULT_SITE_SETTINGS, ...settings });
const NO_RULES = rulesOf();
const judged = (signals: VisitSignals, settings?: Partial<SiteSettings>) => judge.judge(signals, rulesOf(settings));
const isLeftOut = (signals: VisitSignals) => judged(signals).score >= DEFAULT_SITE_SETTINGS.botThreshold;

/** Somebody at a desk who fills in a form. */
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
  it('gives no reason at all', () => {
    expect(judged(PERSON)).toEqual({ score: 0, reasons: [], list: `${loadBotList().version}/rules-${RULES}` });
  });

  it.each<[string, Partial<VisitSignals>, string[]]>([
    ['through the VPN of a company that runs in a cloud', { ip: HOSTED }, ['datacenter']],
    [
      'at a virtual desktop in a cloud, without the PDF viewer',
      { ip: HOSTED, plugins: 0 },
      ['no_plugins', 'datacenter'],
    ],
    [
      'whose password manager fills in and sends the form at once',
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
    [
      'who speaks to the computer instead of touching it, through a VPN',
      { submitMs: 40_000, interactions: 0, ip: HOSTED },
      ['datacenter'],
    ],
    ['who opened the page in the background', { hidden: true, viewport: [0, 0] }, []],
    [
      'behind a proxy that takes headers off',
      { headers: { acceptLanguage: false, secFetch: false } },
      ['no_sec_fetch', 'no_accept_language'],
    ],
    [
      'with a phone that asks for desktop pages',
      { touch: 5, plugins: 0, screen: [412, 915], viewport: [980, 2176] },
      [],
    ],
    [
      'with a browser that tells next to nothing',
      { headers: {}, languages: undefined, screen: undefined, plugins: undefined } as never,
      [],
    ],
    ['of whom nothing was kept', { userAgent: undefined, ip: undefined } as never, []],
  ])('%s is not left out', (_, signals, reasons) => {
    const all = { ...PERSON, ...signals };
    expect(judged(all).reasons).toEqual(reasons);
    expect(isLeftOut(all)).toBe(false);
  });
});

describe('a bot', () => {
  it.each<[string, Partial<VisitSignals>, string[]]>([
    [
      'that says so',
      { userAgent: 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)' },
      ['declared_crawler'],
    ],
    ['that is an HTTP client', { userAgent: 'curl/8.5.0' }, ['http_client']],
    ['that is a browser without a window', { userAgent: CHROME.replace('Chrome', 'HeadlessChrome') }, ['headless']],
    ['that says so to the page', { webdriver: true }, ['automation']],
    ['that leaves something behind in the page', { automation: ['other', 'callPhantom'] }, ['automation']],
    ['that fills in what nobody sees', { honeypot: true }, ['honeypot']],
    ['without a User-Agent', { userAgent: '' }, ['no_user_agent']],
    [
      'that hurries in a data centre',
      { ip: HOSTED, loadedMs: 120, submitMs: 60, interactions: 0 },
      ['impossible_timing', 'datacenter'],
    ],
    ['that plays a phone in a data centre', { userAgent: PHONE, ip: HOSTED }, ['phone_without_touch', 'datacenter']],
    [
      'that has no language in a data centre',
      { ip: HOSTED, headers: { acceptLanguage: false } },
      ['no_accept_language', 'datacenter'],
    ],
    [
      'with a bare browser',
      { plugins: 0, languages: 0, screen: [800, 600], viewport: [800, 600] },
      ['no_plugins', 'odd_screen', 'no_languages'],
    ],
    [
      'without a screen, and without what its browser sends',
      { screen: [0, 0], headers: { secFetch: false } },
      ['no_sec_fetch', 'odd_screen'],
    ],
  ])('%s is left out', (_, signals, reasons) => {
    const all = { ...PERSON, ...signals };
    expect(judged(all).reasons).toEqual(reasons);
    expect(isLeftOut(all)).toBe(true);
  });
});

describe("a site's own rules", () => {
  it.each<[string, Partial<SiteSettings>, Partial<VisitSignals>]>([
    ['blocked_ip', { blockIps: ['203.0.113.0/24,2001:db8::/32'] }, { ip: '2001:db8::5' }],
    ['blocked_user_agent', { blockUserAgents: ['ShopWatch'] }, { userAgent: `${CHROME} shopwatch/2` }],
    ['blocked_country', { blockCountries: ['FR'] }, { country: 'fr' }],
  ])('%s is certain', (reason, settings, signals) => {
    expect(judged({ ...PERSON, ...signals }, settings)).toMatchObject({ score: 100, reasons: [reason] });
    expect(judged(PERSON, settings)).toMatchObject({ score: 0, reasons: [] });
  });

  it('let an address through whatever else is said of it', () => {
    const settings = { allowIps: ['203.0.113.9'], blockIps: ['203.0.113.0/24'] };
    const signals = { userAgent: 'curl/8.5.0', ip: '203.0.113.9', webdriver: true };
    expect(judged(signals, settings)).toMatchObject({ score: 0, reasons: ['allowed_ip'] });
    expect(judged({ ...signals, ip: '203.0.113.8' }, settings).score).toBe(100);
  });

  it('are prepared once for each state of the settings', () => {
    const settings = { ...DEFAULT_SITE_SETTINGS };
    expect(siteRulesOf(settings)).toBe(siteRulesOf(settings));
    expect(siteRulesOf({ ...settings, blockIps: ['10.0.0.1'] })).not.toBe(siteRulesOf(settings));
  });
});

describe('the weights', () => {
  it('keep every weak sign below what leaves a visit out, alone', () => {
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

  it('stand in docs/bots.md, each with its own', () => {
    const page = readFileSync(join(process.cwd(), 'docs/bots.md'), 'utf8');
    const listed = [...page.matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(([, reason, weight]) => [
      reason,
      Number(weight),
    ]);
    expect(listed).toEqual(Object.entries(WEIGHTS));
  });

  it('and the patterns of isbot change only with the version of the rules', () => {
    // Red after such a change: count RULES up, and put its line in place of this one.
    const content = JSON.stringify([WEIGHTS, isbotPatterns]);
    expect([RULES, createHash('sha256').update(content).digest('hex').slice(0, 16)]).toEqual([1, '4d709a016ae0ebb0']);
  });
});

/** What a tag or a forger could send, with a liking for what the rules look at. */
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

/** Each makes a visit more suspicious, whatever it was before. */
const BOT_SIGNS: readonly Partial<VisitSignals>[] = [
  { webdriver: true },
  { automation: ['cdc'] },
  { honeypot: true },
  { languages: 0 },
  { screen: [0, 0] },
  { identifiedBy: 'form', loadedMs: 100, submitMs: 50, interactions: 0 },
];

describe('any signals at all', () => {
  it('get a score from 0 to 100, the sum of its reasons, each given once', () => {
    fc.assert(
      fc.property(signalsOf, settingsOf, (signals, settings) => {
        const { score, reasons } = judged(signals, settings);
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

  it('get the same judgement again, from another judge too', () => {
    const other = new BotJudge(loadBotList());
    fc.assert(
      fc.property(signalsOf, settingsOf, (signals, settings) => {
        expect(other.judge(signals, rulesOf(settings))).toEqual(judged(signals, settings));
      }),
    );
  });

  it('are let through from an allowed address, and only from there', () => {
    fc.assert(
      fc.property(signalsOf, settingsOf, (signals, settings) => {
        const allowed = judged({ ...signals, ip: '203.0.113.9' }, { ...settings, allowIps: ['203.0.113.9'] });
        expect(allowed).toMatchObject({ score: 0, reasons: ['allowed_ip'] });
        expect(judged({ ...signals, ip: '203.0.113.10' }, settings).reasons).not.toContain('allowed_ip');
      }),
    );
  });

  it('never get a lower score for one more sign of a bot', () => {
    fc.assert(
      fc.property(signalsOf, settingsOf, fc.constantFrom(...BOT_SIGNS), (signals, settings, sign) => {
        expect(judged({ ...signals, ...sign }, settings).score).toBeGreaterThanOrEqual(judged(signals, settings).score);
      }),
    );
  });

  it('are judged without a throw, also if they are not what they should be', () => {
    const names = Object.keys(PERSON) as (keyof VisitSignals)[];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), fc.anything({ withNullPrototype: true })), (signals) => {
        expect(judge.judge(signals as VisitSignals, NO_RULES).score).toBeLessThanOrEqual(100);
      }),
    );
  });
});
