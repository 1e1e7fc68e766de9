import { attemptViews, type ConversionHistory, conversionStory, type Step } from './conversion-story.js';

const TIME = '2026-11-16T12:00:00.000Z';
const CONVERSION: ConversionHistory['conversion'] = {
  conversionId: '01a1e5b9-3fea-7b69-abe9-1a3f1faf7078',
  status: 'received',
  time: TIME,
  event: 'purchase',
  currency: 'EUR',
  orderId: 'ORD-1',
  keyId: '01a1e5b9-3fea-7b69-abe9-1a3f1faf7079',
  trial: false,
  key: { name: 'Shop', prefix: 'cc_1' },
};

function storyOf(change: Partial<ConversionHistory>): Step[] {
  const history = { conversion: CONVERSION, masked: false, match: null, consent: null, deliveries: [], events: [] };
  return conversionStory('shop.example', { ...history, ...change });
}

const titlesOf = (steps: readonly Step[]) => steps.map(({ title }) => title);
const factsOf = (step: Step | undefined) =>
  Object.fromEntries((step?.facts ?? []).map(({ name, value }) => [name, value]));

describe('the story of a conversion', () => {
  it('has a step for each decision, in their order', () => {
    expect(titlesOf(storyOf({}))).toEqual([
      'Received',
      'Not matched',
      'Consent not known',
      'Not a bot',
      'Not a duplicate',
    ]);
  });

  it('begins with the key that it was received with', () => {
    const [received] = storyOf({});
    expect(received).toMatchObject({ time: TIME, text: 'with key “Shop” (cc_1…)' });
    expect(factsOf(received)).toEqual({
      Conversion: CONVERSION.conversionId,
      Event: 'purchase',
      Order: 'ORD-1',
    });
  });

  it('names the source, the click and its age', () => {
    const [hour, day] = [3_600_000, 86_400_000];
    const match = {
      clicks: {
        fbclid: { id: 'older', timeMs: Date.parse(TIME) - 9 * day },
        gclid: { id: 'Cj0', timeMs: Date.parse(TIME) - 3 * hour },
      },
      cookies: {},
      utm: { source: 'google', medium: 'cpc', campaign: 'spring' },
    };
    const step = storyOf({ match })[1];
    expect(step).toMatchObject({ title: 'Matched', text: 'to a click 3 h earlier' });
    expect(Object.entries(factsOf(step))).toEqual([
      ['Source', 'google / cpc'],
      ['Campaign', 'spring'],
      ['gclid', 'Cj0 · 3 h earlier'],
      ['fbclid', 'older · 9 d earlier'],
    ]);
    expect(factsOf(storyOf({ match, masked: true })[1])).toMatchObject({ gclid: '3 h earlier' });
    expect(storyOf({ match: { clicks: {}, cookies: {}, utm: {} } })[1]?.text).toBe('to a visit without an ad click');
  });

  it('names the click ids that the sender stated', () => {
    const events = [{ type: 'conversion.received.v1', data: {}, personal: { clickIds: { gclid: 'Cj0' } } }] as never;
    expect(factsOf(storyOf({ events })[1])).toEqual({ 'gclid (sent)': 'Cj0' });
  });

  it('shows what else the sender stated, and what of it is not used', () => {
    const personal = {
      cookies: { _ga: '1.2' },
      utm: { source: 'news', medium: 'email' },
      pageUrl: 'https://shop.example/thanks',
      custom: { profit: 41.5, new: true },
    };
    const events = [{ type: 'conversion.received.v1', data: {}, personal }] as never;
    const sentConsent = { ad_storage: 'denied' as const };
    const conversion = {
      ...CONVERSION,
      eventId: 'evt-1',
      dropped: ['country', 'items'],
      unknown: ['order_id', 'other'],
      sentConsent,
    };
    const [received, match, consent] = storyOf({ conversion, events });
    expect(factsOf(received)).toMatchObject({
      'Event id': 'evt-1',
      'Custom values': 'profit: 41.5, new: true',
      'Not used': 'country, items: not valid as sent',
      'Unknown fields': 'order_id, other',
    });
    expect(factsOf(match)).toEqual({
      '_ga (sent)': '1.2',
      'Campaign (sent)': 'news · email',
      'Page (sent)': 'https://shop.example/thanks',
    });
    expect(factsOf(consent)).toEqual({ 'Sent with it': 'ad_storage denied' });
  });

  it('says what consent withholds', () => {
    const conversion = { ...CONVERSION, withheld: 'opted_out', personalization: 'denied' as const };
    const step = storyOf({ conversion, consent: 'denied' })[2];
    expect(step).toMatchObject({ title: 'Consent denied', tone: 'warn' });
    expect(factsOf(step)).toEqual({ 'Personalised ads': 'denied', 'Visit not sent': 'the person opted out' });
    const bySender = { ...CONVERSION, withheld: 'denied_by_sender' };
    expect(factsOf(storyOf({ conversion: bySender, consent: 'denied' })[2])).toEqual({
      'Visit not sent': 'the sender denied it for this conversion',
    });
    const undecided = { ...CONVERSION, withheld: 'undecided' };
    expect(storyOf({ conversion: undecided, consent: 'denied' })[1]?.text).toBe(
      'Visits of this person are not used: the page denies by default, and the visitor has not decided.',
    );
  });

  it('gives the reasons of the bot verdict', () => {
    const bot = { score: 80, reasons: ['web_driver'], list: '1' };
    const filtered = { ...CONVERSION, status: 'filtered' as const, reason: 'bot', judged: true as const, bot };
    const steps = storyOf({ conversion: filtered });
    expect(titlesOf(steps)).toEqual(['Received', 'Filtered out', 'Not a duplicate']);
    const step = steps[1];
    expect(step?.text).toBe('The visits of this person look automated. It is neither counted nor sent.');
    expect(factsOf(step)).toEqual({ 'Bot score': '80 of 100', Reasons: 'web driver' });
    const observed = { ...CONVERSION, judged: true as const, bot };
    expect(storyOf({ conversion: observed })[3]).toMatchObject({
      ...{ title: 'Looks like a bot', tone: 'warn' },
      text: 'The site only observes bots: it is counted and sent.',
    });
  });

  it('says that visits are left out, rather than that none is known', () => {
    const bot = { score: 80, reasons: ['automation'], list: '1' };
    const order = storyOf({ conversion: { ...CONVERSION, judged: true as const, bot, botVisitors: 1 } });
    expect(order[1]?.text).toBe('The visits of this person look automated, and are left out.');
    expect(order[3]?.text).toBe('The traffic filters keep it: it is counted, and sent without these visits.');
    const denied = storyOf({ conversion: { ...CONVERSION, withheld: 'opted_out' }, consent: 'denied' });
    expect(denied[1]?.text).toBe('Visits of this person are not used: the person opted out.');
  });

  it('leads from a duplicate to the first conversion, and from that to its duplicates', () => {
    const duplicate = {
      ...CONVERSION,
      status: 'deduplicated' as const,
      firstConversionId: 'first',
      differs: ['value'],
    };
    expect(storyOf({ conversion: duplicate })[1]).toMatchObject({
      title: 'Duplicate',
      facts: [{ value: 'first', path: '/sites/shop.example/conversions/first' }, { value: 'value' }],
    });
    const copy = { conversionId: 'second', firstConversionId: CONVERSION.conversionId };
    const events = [{ type: 'conversion.deduplicated.v1', data: copy }] as never;
    expect(storyOf({ events })[4]).toMatchObject({
      text: '1 duplicate followed, not counted.',
      facts: [{ path: '/sites/shop.example/conversions/second' }],
    });
  });

  it('ends with what each platform did, those with the same end together', () => {
    const attempt = (time: string, status: string) => ({ time, attempt: 1, status });
    const deliveries = [
      { platform: 'meta', status: 'delivered', attempts: [attempt('2026-11-16T12:00:01.000Z', 'delivered')] },
      { platform: 'ga4', status: 'delivered', attempts: [attempt('2026-11-16T12:00:02.000Z', 'delivered')] },
      { platform: 'google_ads', status: 'accepted', attempts: [] },
      { platform: 'x', status: 'queued', reason: 'paused', attempts: [] },
    ];
    expect(storyOf({ deliveries }).slice(5)).toEqual([
      { title: 'Delivered', text: 'to Meta, GA4', tone: 'ok', facts: [], time: '2026-11-16T12:00:02.000Z' },
      { title: 'Accepted', text: 'by Google Ads', tone: 'ok', facts: [] },
      {
        ...{ title: 'Waiting', text: 'for X', tone: 'warn' },
        facts: [{ name: 'X', value: 'the connection is paused' }],
      },
    ]);
  });

  it('tells an attempt from asking the platform whether it counts the conversion', () => {
    const [first, second, third] = attemptViews([
      { time: TIME, attempt: 1, status: 'deferred', httpStatus: 503, durationMs: 70, unknown: true },
      { time: TIME, attempt: 2, status: 'accepted', nextTry: TIME },
      { time: TIME, attempt: 3, status: 'accepted', nextTry: TIME },
    ]);
    expect(first).toMatchObject({
      title: 'Attempt 1',
      details: 'HTTP 503 · 70 ms · the platform may have accepted it',
    });
    expect([second?.title, second?.asksAt]).toEqual(['Attempt 2', undefined]);
    expect([third?.title, third?.asksAt]).toEqual(['Asked whether it counts', TIME]);
  });
});
