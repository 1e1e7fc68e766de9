// The visitors part: the cost of a visit apart from the append.
import { DEFAULT_SITE_SETTINGS } from '../../dist/sites/site-settings.js';
import { loadBotList } from '../../dist/visitors/bots/bot-list.js';
import { BotScorer, siteRulesOf } from '../../dist/visitors/bots/bot-scorer.js';
import { meets, spread } from './figures.mjs';
import { tagRows } from './tag.mjs';
import { visitRateRows } from './visit-rates.mjs';

const BATCH = 2_000;
const SCORE_TARGET = { atMost: 20 };

/** Browsers, in-app browsers, crawlers and HTTP clients. */
const USER_AGENTS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0',
  'Mozilla/5.0 (Linux; Android 12; SM-G991U Build/SP1A.210812.016; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/124.0.6367.123 Mobile Safari/537.36 Instagram 333.0.0.42.91 Android (31/12; 480dpi; 1080x2176; samsung; SM-G991U; o1q; qcom; en_US; 604247854)',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/21F90 [FBAN/FBIOS;FBAV/467.0.0.45.83;FBBV/605104131;FBDV/iPhone15,3;FBMD/iPhone;FBSN/iOS;FBSV/17.5.1;FBSS/3;FBID/phone;FBLC/en_US;FBOP/5]',
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0.6478.55 Safari/537.36',
  'python-requests/2.32.3',
];

export async function visitorsRun(context) {
  const scoring = await context.part('the bot score of a visit', async () => scoringRows(context));
  const tag = await context.part('the tag', () => tagRows(context));
  const visits = await context.part('visits and conversions', () => visitRateRows(context));
  return [...(scoring ?? []), ...(tag ?? []), ...(visits ?? [])];
}

/** In this process, because scoring needs no service. */
function scoringRows({ settings, progress }) {
  progress('scoring visits …');
  const judge = new BotScorer(loadBotList());
  const rules = siteRulesOf({
    ...DEFAULT_SITE_SETTINGS,
    blockIps: Array.from({ length: 1_000 }, (_, at) => `203.${at >> 8}.${at & 255}.0/28`),
    allowIps: ['198.51.100.0/24', '2001:db8:1::/48'],
    blockUserAgents: ['ShopWatch', 'PriceRobot'],
    blockCountries: ['AQ'],
  });
  return [
    { what: 'bot score of a visit, 50 versions of each User-Agent', versions: 50 },
    { what: '↳ with a different User-Agent each time', versions: Number.POSITIVE_INFINITY },
  ].map(({ what, versions }) => {
    const value = spread(batches(judge, rules, versions, settings.seconds * 1_000));
    return { what, unit: 'µs', value, target: SCORE_TARGET, met: meets(value?.median, SCORE_TARGET) };
  });
}

/** CPU µs per score and batch. Wall-clock time would include other work of the machine. */
function batches(judge, rules, versions, ms) {
  const perScore = [];
  let made = 0;
  let scores = 0;
  const end = performance.now() + ms;
  while (performance.now() < end || perScore.length < 5) {
    const visits = Array.from({ length: BATCH }, () => signals(made++, versions));
    const start = process.cpuUsage();
    for (const visit of visits) scores += judge.score(visit, rules).score;
    const { user, system } = process.cpuUsage(start);
    perScore.push((user + system) / BATCH);
  }
  if (scores === 0) throw new Error('no visit has a bot score: the generated signals are wrong');
  // The first batches include JIT compilation.
  return perScore.slice(2);
}

function signals(number, versions) {
  const userAgent = USER_AGENTS[number % USER_AGENTS.length].replace(/126|17|12\b|2\.1|2\.32/, `${number % versions}`);
  const low = (number * 7919) % 65_536;
  return {
    userAgent,
    ip: number % 4 === 0 ? `2a01:4f8:${low.toString(16)}::1` : `${1 + (number % 220)}.${low >> 8}.${low & 255}.9`,
    country: 'DE',
    headers: { acceptLanguage: number % 9 !== 0, secFetch: number % 5 !== 0 },
    webdriver: number % 31 === 0,
    automation: number % 37 === 0 ? ['cdc'] : [],
    languages: number % 3,
    screen: [1920, 1080],
    viewport: [1903, 969],
    touch: number % 2,
    plugins: number % 6,
    hidden: false,
    loadedMs: 100 + (number % 5_000),
    submitMs: number % 30_000,
    identifiedBy: 'form',
    interactions: number % 50,
    honeypot: number % 101 === 0,
  };
}
