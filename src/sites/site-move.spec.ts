import type { StoredEvent } from '../log/event.js';
import { asArriving } from './holding.js';
import { evolve, isClosed, isHeld, type Site } from './site.js';
import { siteDocument, siteWithCell } from './site-document.js';

const STREAM = 'site-01980000-0000-7000-8000-000000000000';

let position = 0;
const event = (type: string, data: object = {}): StoredEvent => {
  position += 1;
  return { type, data, stream: STREAM, position, time: '2026-11-17T19:00:00.000Z' } as never;
};
const fold = (events: StoredEvent[]) => events.reduce(evolve, undefined as Site | undefined) as Site;
const registered = { host: 'shop.example', aliases: [] };
const to = (cell: string, epoch: number) => ({ to: cell, epoch });
const stateOf = (site: Site) => ({ ...site.move, epoch: site.epoch, closed: isClosed(site), held: isHeld(site) });

describe('a site that moves', () => {
  const here = [event('site.registered.v1', registered), event('site.inbound_enabled.v1')];
  const started = event('site.move_started.v1', to('b', 1));
  const left = event('site.moved_out.v1', { ...to('b', 1), events: 4, address: 'https://b.example' });

  it('is paused from the start of the move on, and nothing is left of a cancelled one', () => {
    expect(stateOf(fold(here))).toEqual({ epoch: 0, closed: false, held: false });
    expect(stateOf(fold([...here, started]))).toEqual({
      ...{ state: 'leaving', to: 'b', epoch: 1 },
      ...{ closed: false, held: true },
    });
    const cancelled = fold([...here, started, event('site.move_cancelled.v1', to('b', 1))]);
    // The epoch stays: the other cell may know it.
    expect(stateOf(cancelled)).toEqual({ epoch: 1, closed: false, held: false });
  });

  it('is closed once it has left', () => {
    const site = fold([...here, started, left]);
    expect(stateOf(site)).toEqual({
      ...{ state: 'left', to: 'b', address: 'https://b.example', epoch: 1 },
      ...{ closed: true, held: true },
    });
    expect(siteDocument(site)).toMatchObject({ epoch: 1, move: { state: 'left', to: 'b' } });
    const cells = [{ name: 'b', url: 'https://admin.b.example', token: 'secret' }];
    expect(siteWithCell(site, cells).move).toEqual({ state: 'left', to: 'b', url: 'https://admin.b.example' });
    expect(siteWithCell(site, []).move).toEqual({ state: 'left', to: 'b' });
  });

  it('does not belong to a log that has only a part of its events, whatever they say', () => {
    const copied = [...here, started, left];
    const arriving = (site: Site) => stateOf(asArriving(site, new Set([site.host])));
    for (let count = 1; count <= copied.length; count += 1)
      expect(arriving(fold(copied.slice(0, count)))).toMatchObject({ state: 'arriving', closed: true, held: true });
    const arrival = { from: 'a', epoch: 1, events: 4, position: 103, head: '0'.repeat(64), after: 7 };
    const site = fold([...copied, event('site.moved_in.v1', arrival)]);
    expect(stateOf(asArriving(site, new Set()))).toEqual({ epoch: 1, closed: false, held: false });
    // Copied on, it opens nothing, and states no arrival here.
    expect(arriving(site)).toMatchObject({ state: 'arriving' });
    expect(asArriving(site, new Set([site.host])).arrivedBy).toBeUndefined();
  });

  it('comes back with a higher epoch', () => {
    const back = [
      event('site.moved_in.v1', { from: 'a', epoch: 1, events: 4, position: 4, head: '0'.repeat(64), after: 0 }),
      event('site.move_started.v1', to('a', 2)),
      event('site.moved_out.v1', { ...to('a', 2), events: 7 }),
    ];
    expect(stateOf(fold([...here, started, left, ...back]))).toMatchObject({ state: 'left', epoch: 2 });
    const arrival = event('site.moved_in.v1', { from: 'b', epoch: 2, events: 7, position: 12, head: '0'.repeat(64) });
    expect(stateOf(fold([...here, started, left, ...back, arrival]))).toEqual({
      ...{ epoch: 2, closed: false, held: false },
    });
  });

  it('keeps its epoch when it is removed and added again', () => {
    const again = fold([...here, event('site.removed.v1'), event('site.registered.v1', registered)]);
    expect(again.epoch).toBe(0);
    const moved = fold([
      ...[...here, started, event('site.move_cancelled.v1', to('b', 1)), event('site.removed.v1')],
      event('site.registered.v1', registered),
    ]);
    expect(stateOf(moved)).toEqual({ epoch: 1, closed: false, held: false });
  });
});
