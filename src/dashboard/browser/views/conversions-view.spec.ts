import { OUTCOMES } from '../../../kernel/outcome-words.js';
import {
  type ConversionFilters,
  deliveredText,
  lettersOf,
  markOf,
  mayMatch,
  OUTCOME_CHOICES,
  readConversionFilters,
  sourceOf,
} from './conversions-view.js';

const RECEIVED = {
  type: 'conversion.received.v1',
  data: { event: 'purchase', source: 'website', platforms: ['meta', 'tiktok'] },
};
const FILTERED = { type: 'conversion.filtered.v1', data: { event: 'purchase' } };

describe('the filters of the list of conversions', () => {
  it('are read from the address, without what is no filter', () => {
    const query = { order: 'A', connection: 'meta:second', outcome: 'not_sent', event: 'lead', source: 'shopify' };
    expect(readConversionFilters({ ...query, span: '7d', other: 'x' })).toEqual({ ...query, span: '7d' });
    expect(readConversionFilters({ outcome: 'failed', order: '', from: 'x' })).toEqual({});
  });

  it('have the outcomes of the API', () => {
    expect(OUTCOME_CHOICES.map(([value]) => value)).toEqual(OUTCOMES);
  });

  it.each<[ConversionFilters, boolean, boolean]>([
    [{}, true, true],
    [{ event: 'purchase' }, true, true],
    [{ event: 'lead' }, false, false],
    [{ source: 'website' }, true, false],
    [{ outcome: 'refused' }, true, false],
    [{ outcome: 'filtered' }, false, true],
    [{ outcome: 'duplicate' }, false, false],
    [{ connection: 'meta' }, true, false],
    [{ connection: 'snapchat' }, false, false],
    [{ to: '2026-01-01' }, false, false],
  ])('%j may match a new conversion: %j, a new filtered one: %j', (filters, received, filtered) => {
    expect([mayMatch(RECEIVED, filters), mayMatch(FILTERED, filters)]).toEqual([received, filtered]);
  });
});

describe('the outcome of a conversion in a row', () => {
  it('counts what was delivered of what was to be, and the rest in its words', () => {
    const of = (...states: string[]) => states.map((status) => ({ platform: 'meta', status }));
    expect(deliveredText(of('delivered', 'confirmed'))).toBe('2 of 2 delivered');
    expect(deliveredText(of('delivered', 'accepted', 'failed', 'rejected', 'queued', 'skipped'))).toBe(
      '1 of 6 delivered, 1 accepted, 2 refused, 1 waiting, 1 not sent',
    );
    expect(deliveredText([{ platform: 'meta', status: 'failed', reason: 'gave_up' }])).toBe(
      '0 of 1 delivered, 1 not sent',
    );
    expect(deliveredText(of('validated', 'skipped'))).toBe('1 of 2 checked, 1 not sent');
    expect(deliveredText([])).toBe('delivered nowhere');
  });

  it('has a mark for each platform, whose state is told without its colour as well', () => {
    expect(markOf({ platform: 'google_ads', status: 'delivered' })).toEqual({
      ...{ connection: 'google_ads', letters: 'GA', sign: '✓', tone: 'ok', text: 'Google Ads: delivered' },
    });
    expect(markOf({ platform: 'meta:second', status: 'failed', reason: 'bad event' })).toMatchObject({
      ...{ letters: 'Me·s', sign: '✕', tone: 'bad', text: 'Meta · second: refused (bad event)' },
    });
    expect(markOf({ platform: 'meta', status: 'failed', reason: 'gave_up' })).toMatchObject({
      sign: '–',
      tone: 'plain',
    });
    expect(['GA4', 'TikTok', 'X', 'Microsoft Ads'].map(lettersOf)).toEqual(['G4', 'Ti', 'X', 'MA']);
  });

  it('has the source whose webhook it was made of, or else where it happened', () => {
    expect(sourceOf({ source: 'website', delivery: { source: 'shopify' } })).toBe('shopify');
    expect(sourceOf({ source: 'website' })).toBe('website');
    expect(sourceOf({})).toBeUndefined();
  });
});
