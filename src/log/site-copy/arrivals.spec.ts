import { compareArrivals, type StreamHere } from './arrivals.js';
import type { CopiedEvent } from './copied-rows.js';
import { SiteCopyRefused, SiteForked } from './site-copy-errors.js';

const SITE = 'shop.example';
const NOTHING: StreamHere = { id: null, lowest: null, highest: null, site: null, category: null, subject: null };
const here = (lowest: number, highest: number, id: string | null = null): StreamHere => ({
  ...{ id, lowest, highest, site: SITE, category: 'conversion', subject: id && 'ab' },
});
const event = (version: number, more: Partial<CopiedEvent> = {}): CopiedEvent => ({
  ...{ position: version, order: version, isLate: false, id: `id-${version}`, category: 'conversion', stream: 's' },
  ...{ version, timeMs: version, isErased: false, isErasedOnly: false, fields: [] },
  ...more,
});
const missing = (events: CopiedEvent[], found: StreamHere[]) =>
  compareArrivals(SITE, events, found, undefined).missing.map(({ version }) => version);

describe('arriving events', () => {
  it('are missing if the log has nothing of their stream, or if they continue it', () => {
    expect(missing([event(1), event(2)], [NOTHING, NOTHING])).toEqual([1, 2]);
    expect(missing([event(3), event(4)], [here(1, 2), here(1, 2)])).toEqual([3, 4]);
  });

  it('are left out if the log has them, or if retention has removed them here', () => {
    expect(missing([event(1), event(2), event(3)], [here(1, 2, 'id-1'), here(1, 2, 'id-2'), here(1, 2)])).toEqual([3]);
    expect(missing([event(1), event(2), event(3)], [here(2, 2), here(2, 2, 'id-2'), here(2, 2)])).toEqual([3]);
  });

  it('are left out if they were removed here with their whole stream, and not if they are later than that', () => {
    const of = (events: CopiedEvent[], timeMs: number) =>
      compareArrivals(
        SITE,
        events,
        events.map(() => NOTHING),
        { place: 2, timeMs },
      ).missing.map(({ id }) => id);
    const streams = [1, 2, 3].map((order) => event(1, { order, id: `id-${order}`, stream: `s-${order}` }));
    expect(of(streams, 9)).toEqual(['id-3']);
    expect(of([event(1, { order: 2, timeMs: 10 })], 9)).toEqual(['id-1']);
    // Retention keeps those of the site itself.
    expect(of([event(1, { category: 'site' })], 9)).toEqual(['id-1']);
  });

  it('may lack the start of a stream, unless retention keeps all of it', () => {
    expect(missing([event(3), event(4)], [NOTHING, NOTHING])).toEqual([3, 4]);
    expect(() => missing([event(3, { category: 'site' })], [NOTHING])).toThrow(SiteForked);
  });

  it('are not stored by a row that only says that they are erased', () => {
    expect(missing([event(3, { isErased: true, isErasedOnly: true })], [NOTHING])).toEqual([]);
  });

  it('are a fork if another event has their version, or if one before them is missing', () => {
    expect(() => missing([event(2)], [here(1, 2, 'id-other')])).toThrow(
      /version 2 is event id-2 in the one that sends it and event id-other here/,
    );
    expect(() => missing([event(4)], [here(1, 2)])).toThrow(SiteForked);
    expect(() => missing([event(2), event(4)], [here(1, 1), here(1, 1)])).toThrow(SiteForked);
  });

  it('are refused if the stream belongs to another site or category', () => {
    expect(() => missing([event(2)], [{ ...here(1, 1), site: 'other.example' }])).toThrow(SiteCopyRefused);
    expect(() => missing([event(2)], [{ ...here(1, 1), category: 'site' }])).toThrow(SiteCopyRefused);
  });

  it('name the subjects that only the other log has erased', () => {
    const erased = { isErased: true };
    const found = [here(1, 2, 'id-1'), here(1, 2, 'id-2')];
    expect(compareArrivals(SITE, [event(1, erased), event(2)], found, undefined).erased).toEqual(['ab']);
    expect(
      compareArrivals(SITE, [event(1, erased)], [{ ...here(1, 1, 'id-1'), subject: null }], undefined).erased,
    ).toEqual([]);
  });
});
