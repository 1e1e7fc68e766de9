import { type Outcome, type OutcomeStatus } from '../events/delivery.events.js';
import type { StoredEvent } from '../log/event.js';
import { currentResults, foldDeliveries, outcomeType, resultOf, resultsOf } from './delivery.js';

const event = (type: string, data: object) => ({ type, data }) as StoredEvent;
const received = (data: object = {}) => event('conversion.received.v1', { platforms: ['meta', 'segment'], ...data });
const outcome = (platform: string, status: OutcomeStatus, data: Partial<Outcome> = {}) =>
  event(outcomeType(status), { platform, status, attempt: 1, ...data });

describe('resultOf', () => {
  it.each<[OutcomeStatus | undefined, string | undefined, object]>([
    [undefined, undefined, { ok: false, status: 'queued', reason: 'pending' }],
    ['delivered', undefined, { ok: true, status: 'delivered' }],
    ['accepted', undefined, { ok: true, status: 'accepted' }],
    ['confirmed', undefined, { ok: true, status: 'delivered' }],
    ['rejected', 'PARTY_UNKNOWN', { ok: false, status: 'failed', reason: 'PARTY_UNKNOWN' }],
    ['skipped', 'no_identifier', { ok: false, status: 'skipped', reason: 'no_identifier' }],
    ['deferred', 'throttled', { ok: false, status: 'queued', reason: 'throttled' }],
    ['failed', 'HTTP 404', { ok: false, status: 'failed', reason: 'HTTP 404' }],
    ['validated', undefined, { ok: true, status: 'validated' }],
  ])('maps the status %s', (status, reason, result) => {
    const last = status && { status, ...(reason !== undefined && { reason }) };
    expect(resultOf(last, false)).toEqual(result);
    expect(resultOf(last, true)).toEqual({ ...result, trial: true });
  });
});

describe('currentResults', () => {
  it('lists the platforms in the order of the receipt, with the outcomes that are known', () => {
    const data = { platforms: ['meta', 'segment'], trial: false } as const;
    const results = currentResults(data, (platform) => (platform === 'segment' ? { status: 'delivered' } : undefined));
    expect(Object.entries(results)).toEqual([
      ['meta', { ok: false, status: 'queued', reason: 'pending' }],
      ['segment', { ok: true, status: 'delivered' }],
    ]);
  });
});

describe('foldDeliveries', () => {
  it('creates one pending delivery for each connected platform', () => {
    expect(resultsOf([received()])).toEqual({
      meta: { ok: false, status: 'queued', reason: 'pending' },
      segment: { ok: false, status: 'queued', reason: 'pending' },
    });
    expect(resultsOf([event('conversion.received.v1', {})])).toEqual({});
  });

  it('remembers what the platform refused, until it is requested or reopened anew', () => {
    const refused = outcome('meta', 'deferred', { reason: 'identifier_refused', without: ['phone'], bodySha256: 'b' });
    const deferred = outcome('meta', 'deferred', { reason: 'throttled', attempt: 2 });
    const found = (...more: StoredEvent[]) => foldDeliveries([received(), refused, deferred, ...more])[0];
    expect(found()).toMatchObject({ without: ['phone'], bodySha256: 'b' });
    expect(found(event('conversion.send_requested.v1', { platform: 'meta', attempt: 2 }))?.without).toBeUndefined();
    const bound = { platform: 'meta', attempt: 2, without: ['phone'] };
    expect(found(event('conversion.send_requested.v1', bound))).toMatchObject({ without: ['phone'] });
    expect(found(event('conversion.reopened.v1', { platform: 'meta', attempt: 2 }))?.without).toBeUndefined();
  });

  it('takes the state of a delivery from its newest outcome', () => {
    const events = [
      received(),
      outcome('meta', 'deferred', { reason: 'server_error', bodySha256: 'a' }),
      outcome('segment', 'failed', { reason: 'HTTP 400' }),
      outcome('meta', 'delivered', { attempt: 2 }),
    ];
    expect(resultsOf(events)).toEqual({
      meta: { ok: true, status: 'delivered' },
      segment: { ok: false, status: 'failed', reason: 'HTTP 400' },
    });
    expect(foldDeliveries(events)[0]).toMatchObject({ platform: 'meta', attempts: 2, bodySha256: 'a' });
  });

  it('restarts a delivery that an operator requested and keeps its event id and settings', () => {
    const request = event('conversion.send_requested.v1', {
      platform: 'meta',
      eventId: 'ORD-1-r2',
      attempt: 1,
      settings: 9,
    });
    const events = [received(), outcome('meta', 'failed', { reason: 'x', bodySha256: 'a' }), request];
    expect(foldDeliveries(events)[0]).toEqual({
      platform: 'meta',
      attempts: 1,
      last: undefined,
      eventId: 'ORD-1-r2',
      settingsPosition: 9,
    });
    expect(resultsOf(events).meta).toEqual({ ok: false, status: 'queued', reason: 'pending' });
    const deferred = { attempt: 2, reason: 'timeout', bodySha256: 'b', settings: 9 };
    const after = [...events, outcome('meta', 'deferred', deferred)];
    expect(foldDeliveries(after)[0]).toMatchObject({
      eventId: 'ORD-1-r2',
      settingsPosition: 9,
      bodySha256: 'b',
      attempts: 2,
    });
  });

  it('binds a delivery from the first attempt that may be accepted until an operator forces a new event id', () => {
    const since = '2026-11-14T10:00:00.000Z';
    const unknown = outcome('meta', 'deferred', { reason: 'timeout', unknown: true, unknownSince: since });
    const refused = outcome('meta', 'failed', { attempt: 2, reason: 'HTTP 400', unknownSince: since });
    const request = (data: object) => event('conversion.send_requested.v1', { platform: 'meta', settings: 9, ...data });
    const unknownSinceOf = (...events: StoredEvent[]) => foldDeliveries([received(), ...events])[0]?.unknownSince;
    expect(unknownSinceOf(unknown, refused)).toBe(since);
    expect(unknownSinceOf(unknown, refused, request({ unknownSince: since }))).toBe(since);
    expect(unknownSinceOf(unknown, refused, request({ eventId: 'ORD-1-r2' }))).toBeUndefined();
    expect(unknownSinceOf(outcome('meta', 'deferred', { reason: 'throttled', unknown: false }))).toBeUndefined();
  });

  it('decides by the reason whether an attempt of an earlier version may have been accepted', () => {
    const timedOut = { ...outcome('meta', 'deferred', { reason: 'timeout' }), time: '2026-11-14T10:00:00.000Z' };
    expect(foldDeliveries([received(), timedOut])[0]?.unknownSince).toBe(timedOut.time);
    const parked = { ...outcome('meta', 'deferred', { reason: 'authorization' }), time: timedOut.time };
    expect(foldDeliveries([received(), parked])[0]?.unknownSince).toBeUndefined();
  });

  it('marks the results of a trial conversion', () => {
    const events = [received({ trial: true }), outcome('meta', 'validated')];
    expect(resultsOf(events).meta).toEqual({ ok: true, status: 'validated', trial: true });
  });
});
