import * as fc from 'fast-check';
import { type ReportingWindow } from '../events/outbound.events.js';
import type { SiteWebhook } from '../sites/webhook.js';
import { type End, failuresOf, nextStep, nextWindowStart } from './reporting-window.js';
import { nextTickMs } from './ticks.js';

const EVERY = 15 * 60_000;
const at = (clock: string) => Date.parse(`2026-03-29T${clock}Z`);
const iso = (clock: string) => new Date(at(clock)).toISOString();

const webhook: SiteWebhook = {
  url: 'https://hooks.shop.example/totals',
  enabled: true,
  since: iso('09:50:00'),
  first: { position: 10, time: iso('09:50:00') },
  position: 10,
  secretSince: iso('09:50:00'),
};
const window: ReportingWindow = {
  stretchId: 's1',
  fromPosition: 10,
  toPosition: 40,
  windowStart: iso('09:50:00'),
  windowEnd: iso('10:00:01'),
  body: { conversions: 3, bot_traffic_removed: 1 },
};
const closed: End = { type: 'outbound.closed.v1', data: window, position: 41, version: 1, time: iso('10:00:01') };
const failed = (nextTry?: string): End => ({
  type: 'outbound.failed.v1',
  data: {
    ...window,
    ...{ attempt: 1, durationMs: 5, reason: 'HTTP 500', failures: 1, failingSince: iso('10:00:02') },
    ...(nextTry && { nextTry }),
  },
  ...{ position: 42, version: 2, time: iso('10:00:02') },
});
const delivered: End = {
  type: 'outbound.delivered.v1',
  data: { ...window, attempt: 1, durationMs: 5, httpStatus: 200 },
  ...{ position: 43, version: 3, time: iso('10:00:03') },
};
const step = (end: End, clock: string, hook = webhook) => nextStep(hook, end, at(clock), EVERY);

describe('a webhook without a reporting window', () => {
  it('waits for the first tick after the webhook was set', () => {
    expect(step(undefined, '09:59:59.999')).toEqual({ kind: 'wait', untilMs: at('10:00:00') });
    expect(step(undefined, '10:00:00')).toEqual({ kind: 'close' });
  });

  it('starts its first window where the webhook was first set', () => {
    expect(nextWindowStart(webhook, undefined)).toEqual({ fromPosition: 10, windowStart: iso('09:50:00') });
  });
});

describe('the series of a window', () => {
  const jump = { kept: 40, continuesAt: 1_000_000_000 };
  const begun = { fromPosition: 40, windowStart: iso('10:00:01') };
  const inSeries = (series: number): End =>
    ({ ...delivered, data: { ...delivered?.data, series, seriesStart: 7 } }) as End;

  it('is absent as long as the log was not restored', () => {
    expect(nextWindowStart(webhook, delivered)).toEqual(begun);
  });

  it('begins with the first window after a restore, where the last known one ended, whatever retention has left', () => {
    expect(nextWindowStart(webhook, delivered, { ...jump, kept: 0 })).toEqual({
      ...{ ...begun, series: 1_000_000_000, seriesStart: 40 },
    });
  });

  it('begins at the last event that is left, if the webhook was set after the restore', () => {
    const first = { position: 1_000_000_003, time: iso('11:00:00') };
    expect(nextWindowStart({ ...webhook, first }, undefined, jump)).toMatchObject({
      ...{ fromPosition: 1_000_000_003, series: 1_000_000_000, seriesStart: 40 },
    });
  });

  it('continues until the next restore, also in another log that was restored before', () => {
    const since = { ...inSeries(1_000_000_000), position: 1_000_000_020 } as End;
    expect(nextWindowStart(webhook, since, jump)).toEqual({
      ...{ ...begun, series: 1_000_000_000, seriesStart: 7 },
    });
    const elsewhere = { ...inSeries(2_000_000_000), position: 1_000_000_020 } as End;
    expect(nextWindowStart(webhook, elsewhere, jump)).toMatchObject({ series: 2_000_000_000 });
    expect(nextWindowStart(webhook, inSeries(2_000_000_000))).toMatchObject({ series: 2_000_000_000 });
  });

  it('is that of the closed window on every attempt', () => {
    const pending = { ...window, series: 1_000_000_000, seriesStart: 10 };
    expect(step({ ...closed, data: pending } as End, '10:00:02')).toEqual({ kind: 'send', window: pending });
  });
});

describe('a webhook with a closed window', () => {
  it('sends the window and closes no other until it is accepted', () => {
    expect(step(closed, '10:00:02')).toEqual({ kind: 'send', window });
    expect(step(closed, '23:00:00')).toEqual({ kind: 'send', window });
  });
});

describe('a webhook after a failed attempt', () => {
  it('waits for the next attempt, also past a tick, and sends the same window', () => {
    expect(step(failed(iso('10:30:00')), '10:15:00')).toEqual({ kind: 'wait', untilMs: at('10:30:00') });
    expect(step(failed(iso('10:30:00')), '10:30:00')).toEqual({ kind: 'send', window });
  });

  it('waits until every process knows that the webhook is disabled', () => {
    expect(step(failed(), '10:01:01')).toEqual({ kind: 'wait', untilMs: at('10:01:02') });
    expect(step(failed(), '10:01:02')).toEqual({ kind: 'send', window });
  });

  it('sends at once and resets the failure count when the webhook was set or enabled since', () => {
    const enabled = { ...webhook, position: 50 };
    expect(step(failed(), '10:00:04', enabled)).toEqual({ kind: 'send', window });
    expect(step(failed(iso('20:00:00')), '10:00:04', enabled)).toEqual({ kind: 'send', window });
    expect(failuresOf(enabled, failed())).toBeUndefined();
    expect(failuresOf(webhook, failed())).toMatchObject({ failures: 1 });
  });
});

describe('a webhook whose receiver has accepted a window', () => {
  it('closes the next window at the next tick, starting where the accepted one ended', () => {
    expect(step(delivered, '10:14:59')).toEqual({ kind: 'wait', untilMs: at('10:15:00') });
    expect(step(delivered, '10:15:00')).toEqual({ kind: 'close' });
    expect(nextWindowStart(webhook, delivered)).toEqual({ fromPosition: 40, windowStart: iso('10:00:01') });
  });

  it('closes the next window at once when a tick was missed', () => {
    expect(step(delivered, '11:07:00')).toEqual({ kind: 'close' });
  });

  it('waits when the clock has stepped back', () => {
    expect(step(delivered, '09:30:00')).toEqual({ kind: 'wait', untilMs: at('10:15:00') });
  });
});

describe('ticks', () => {
  it('are multiples of the interval, at most one interval after the given time', () =>
    fc.assert(
      fc.property(fc.nat({ max: 4e12 }), fc.integer({ min: 1_000, max: 86_400_000 }), (moment, every) => {
        const tick = nextTickMs(moment, every);
        expect(tick % every).toBe(0);
        expect(tick).toBeGreaterThan(moment);
        expect(tick - moment).toBeLessThanOrEqual(every);
      }),
    ));
});
