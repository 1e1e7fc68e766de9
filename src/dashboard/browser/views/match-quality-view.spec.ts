import { adviceOf, carriedOf, identifierTitle, type PlatformQuality, qualityRows } from './match-quality-view.js';

const quality = (more: Partial<PlatformQuality>): PlatformQuality => ({
  ...{ platform: 'meta', conversions: 200, matched: 100, matchRate: 0.5, identifiers: [], helpsMost: null },
  ...more,
});

describe('match quality', () => {
  it('names the field that would help most, and how to provide it', () => {
    expect(adviceOf(quality({ helpsMost: { identifier: 'external_id', missing: 50 } }))).toEqual({
      what: expect.stringMatching(/^25.?% \(50\) have no customer ID$/),
      how: 'send externalId with each conversion',
    });
    expect(adviceOf(quality({ helpsMost: { identifier: 'click_id', missing: 50 } }))?.how).toContain('tag');
    expect(adviceOf(quality({ helpsMost: { identifier: 'phone', missing: 1 } }))?.how).toContain('send phone');
    expect(adviceOf(quality({}))).toBeUndefined();
    expect(identifierTitle('of_next_year')).toBe('of next year');
  });

  it('lists what was carried, and what never was', () => {
    const one = (identifier: string, carried: number) => ({ identifier, carried, share: carried / 200 });
    const { carried, never } = carriedOf(
      quality({ identifiers: [one('phone', 50), one('click_id', 0), one('email', 200)] }),
    );
    expect(carried.map(({ identifier }) => identifier)).toEqual(['email', 'phone']);
    expect(never).toEqual(['click ID']);
  });

  it('shows where most is missing first, and no platform without conversions', () => {
    const items = [
      quality({ platform: 'a', matchRate: 0.9 }),
      quality({ platform: 'b', matchRate: 0.1 }),
      quality({ platform: 'c', conversions: 0, matchRate: null }),
    ];
    expect(qualityRows(items).map(({ platform }) => platform)).toEqual(['b', 'a']);
  });
});
