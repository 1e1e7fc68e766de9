import { type ConversionHistory, conversionStory } from './conversion-story.js';

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

function storyOf(change: Partial<ConversionHistory>) {
  const history = { conversion: CONVERSION, masked: false, match: null, consent: null, deliveries: [], events: [] };
  return conversionStory({ ...history, ...change });
}

describe('the story of a conversion', () => {
  it('begins with the key that it was received with', () => {
    const [received, match] = storyOf({});
    expect(received).toMatchObject({ title: 'Received', time: TIME, text: 'with key “Shop” (cc_1…)' });
    expect(received?.facts).toEqual([
      ['Event', 'purchase'],
      ['Order', 'ORD-1'],
    ]);
    expect(match).toMatchObject({ title: 'Not matched', facts: [['Consent', 'not stated']] });
  });

  it('says why it is not counted', () => {
    const duplicate = { ...CONVERSION, status: 'deduplicated' as const, firstConversionId: '1', differs: ['value'] };
    expect(storyOf({ conversion: duplicate })[1]).toMatchObject({
      title: 'Duplicate',
      facts: [
        ['First', '1'],
        ['Differs in', 'value'],
      ],
    });
    const filtered = { ...CONVERSION, status: 'filtered' as const, reason: 'bot', judged: true as const };
    const bot = { score: 80, reasons: ['webdriver'], list: '1' };
    expect(storyOf({ conversion: { ...filtered, bot } }).map(({ title }) => title)).toEqual([
      'Received',
      'Filtered',
      'Judged',
      'Not matched',
    ]);
  });

  it('names the click and the campaign of the visit', () => {
    const match = {
      clicks: { gclid: { id: 'Cj0', timeMs: 1 } },
      cookies: {},
      utm: { source: 'google', medium: 'cpc' },
    };
    expect(storyOf({ match, consent: 'granted' })[1]).toMatchObject({
      title: 'Matched',
      facts: [
        ['Campaign', 'google / cpc'],
        ['gclid', 'Cj0'],
        ['Consent', 'granted'],
      ],
    });
  });

  it('ends with what each platform did, those with the same end together', () => {
    const attempt = (time: string, status: string) => ({ time, attempt: 1, status });
    const deliveries = [
      { platform: 'meta', status: 'delivered', attempts: [attempt('2026-11-16T12:00:01.000Z', 'delivered')] },
      { platform: 'ga4', status: 'accepted', attempts: [attempt('2026-11-16T12:00:02.000Z', 'accepted')] },
      { platform: 'x', status: 'queued', attempts: [] },
    ];
    expect(storyOf({ deliveries }).slice(2)).toEqual([
      { title: 'Delivered', text: 'to Meta, GA4', tone: 'ok', facts: [], time: '2026-11-16T12:00:02.000Z' },
      { title: 'Waiting', text: 'for X', tone: 'warn', facts: [] },
    ]);
  });
});
