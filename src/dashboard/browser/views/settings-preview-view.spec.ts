import { previewSentences } from './settings-preview-view.js';

const SAME = { was: 2, would: 2 };
const PREVIEW = {
  from: '2026-11-09T00:00:00Z',
  to: '2026-11-16T00:00:00Z',
  complete: true,
  conversions: { received: { was: 90, would: 80 }, deduplicated: SAME, filtered: { was: 1, would: 11 } },
  visits: { examined: 2_000, removed: { was: 100, would: 291 } },
  consent: { withheld: SAME, withoutPerson: SAME, notSent: SAME },
  undecided: 0,
  untold: [],
};

describe('the preview of settings', () => {
  it('says what would have been removed, and what was', () => {
    expect(previewSentences('traffic', PREVIEW)).toEqual([
      'Would have removed 291 of 2,000 visits, instead of 100.',
      'Would have filtered 11 conversions, instead of 1, and counted 80.',
    ]);
  });

  it('says how many more or fewer would have been duplicates', () => {
    const sentencesWith = (would: number) =>
      previewSentences('duplicates', {
        ...PREVIEW,
        conversions: { ...PREVIEW.conversions, deduplicated: { was: 10, would } },
      });
    expect(sentencesWith(12)).toEqual([
      '2 more conversions would have been removed as duplicates: 12, instead of 10.',
      'Would have counted 80 conversions, instead of 90.',
    ]);
    expect(sentencesWith(9)[0]).toBe('1 fewer conversion would have been removed as duplicates: 9, instead of 10.');
    expect(sentencesWith(10)[0]).toBe(
      'No more and no fewer conversions would have been removed as duplicates: 10, as recorded.',
    );
  });

  it('says what would have been withheld without consent, each conversion once, and what it counts', () => {
    const NONE = { was: 0, would: 0 };
    const consent = { withheld: { was: 3, would: 12 }, withoutPerson: NONE, notSent: { was: 0, would: 12 } };
    expect(previewSentences('consent', { ...PREVIEW, consent })).toEqual([
      'Would have sent 0 conversions without what is known of the visit, instead of 3.',
      'Would have kept 12 conversions from all platforms, instead of 0.',
      'Of 90 conversions that were counted, by the consent that was known when they were received.',
    ]);
    const personal = { withheld: { was: 3, would: 12 }, withoutPerson: { was: 0, would: 12 }, notSent: NONE };
    expect(previewSentences('consent', { ...PREVIEW, consent: personal }).slice(0, 2)).toEqual([
      'Would have sent 12 conversions without anything personal, to platforms that take it, instead of 0.',
      'Would have sent 0 conversions without what is known of the visit, instead of 3.',
    ]);
  });

  it('does not say how many conversions a list would have filtered, whose scores are as recorded', () => {
    expect(previewSentences('traffic', { ...PREVIEW, untold: ['blockIps'] })).toEqual([
      'Would have removed 291 of 2,000 visits, instead of 100.',
      'How many conversions blockIps would have filtered cannot be told: they keep their recorded scores.',
    ]);
  });

  it('says that nothing could be examined', () => {
    expect(previewSentences('duplicates', { ...PREVIEW, complete: false, from: PREVIEW.to })).toEqual([
      'Nothing could be examined: there is too much to read back by the whole window.',
    ]);
  });

  it('says that nothing would change, and what cannot be told', () => {
    const same = {
      ...PREVIEW,
      visits: { examined: 1, removed: { was: 0, would: 0 } },
      undecided: 1,
      untold: ['blocked'],
    };
    const [visits, , erased, untold] = previewSentences('traffic', same);
    expect(visits).toBe('Would have removed 0 of 1 visit, as recorded.');
    expect(erased).toMatch(/^1 conversion of erased people/);
    expect(untold).toMatch(/^The effect of blocked cannot be told/);
  });
});
