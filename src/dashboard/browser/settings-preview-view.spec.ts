import { previewSentences } from './settings-preview-view.js';

const SAME = { was: 2, would: 2 };
const PREVIEW = {
  from: '2026-11-09T00:00:00Z',
  to: '2026-11-16T00:00:00Z',
  complete: true,
  conversions: { received: { was: 90, would: 80 }, deduplicated: SAME, filtered: { was: 1, would: 11 } },
  visits: { examined: 2_000, removed: { was: 100, would: 291 } },
  consent: { withheld: SAME, notSent: SAME },
  undecided: 0,
  untold: [],
};

describe('the preview of settings', () => {
  it('says what would have been removed, and what was', () => {
    expect(previewSentences(PREVIEW)).toEqual([
      'Would have removed 291 of 2,000 visits, instead of 100.',
      'Would have filtered 11 conversions, instead of 1, and counted 80.',
    ]);
  });

  it('says that nothing would change, and what cannot be told', () => {
    const same = {
      ...PREVIEW,
      visits: { examined: 1, removed: { was: 0, would: 0 } },
      undecided: 1,
      untold: ['blocked'],
    };
    const [visits, , erased, untold] = previewSentences(same);
    expect(visits).toBe('Would have removed 0 of 1 visit, as recorded.');
    expect(erased).toMatch(/^1 conversion of erased people/);
    expect(untold).toMatch(/^The effect of blocked cannot be told/);
  });
});
