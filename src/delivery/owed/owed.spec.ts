import fc from 'fast-check';
import type { EventField, FieldOptions } from '../../log/event-log.js';
import { UnsettledConversions } from './owed.js';
import { readUnsettled } from './read-unsettled.js';

const OWED_AFTER_MS = 40;

let position: number;
let unsettled: UnsettledConversions;

beforeEach(() => {
  position = 100;
  unsettled = new UnsettledConversions(100, (receivedMs) => receivedMs + OWED_AFTER_MS);
});

function apply(stream: string, value: unknown, isOpening = false, timeMs = 0): number {
  position += 1;
  const json = value === undefined ? null : JSON.stringify(value);
  unsettled.apply({ position, stream, isOpening, site: 'shop.example', timeMs, value: json } satisfies EventField);
  return position;
}
const receive = (stream: string, platforms: unknown, timeMs = 0) => apply(stream, platforms, true, timeMs);
const owed = (nowMs = 1_000) =>
  [...unsettled.owed(nowMs)].map(({ conversion, platform }) => `${conversion} ${platform}`);

describe('UnsettledConversions', () => {
  it('contains the platforms without any event, in log order', () => {
    const twelve = Array.from({ length: 12 }, (_, at) => `platform-${at}`);
    receive('a', twelve);
    receive('b', ['meta', 'segment']);
    for (const platform of twelve.slice(1)) apply('a', platform);
    apply('b', 'meta');
    expect(owed()).toEqual(['a platform-0', 'b segment']);
    apply('a', 'platform-0');
    expect(owed()).toEqual(['b segment']);
  });

  it('says up to which position everything is settled', () => {
    expect(unsettled.settledUpTo).toBe(100);
    const first = receive('a', ['meta']);
    const second = receive('b', ['meta']);
    apply('c', 'meta');
    expect(unsettled.settledUpTo).toBe(first - 1);
    apply('a', 'meta');
    expect(unsettled.settledUpTo).toBe(second - 1);
    const last = apply('b', 'meta');
    expect(unsettled.settledUpTo).toBe(last);
    unsettled.skipTo(500);
    expect([unsettled.settledUpTo, unsettled.readUpTo]).toEqual([500, 500]);
  });

  it('makes nothing owed before its time', () => {
    receive('a', ['meta'], 10);
    receive('b', ['meta'], 20);
    expect(owed(49)).toEqual([]);
    expect(owed(50)).toEqual(['a meta']);
    expect(owed(60)).toEqual(['a meta', 'b meta']);
  });

  it('ignores conversions without platforms, events without a platform and values of other shapes', () => {
    receive('a', undefined);
    receive('b', []);
    receive('c', { meta: true });
    receive('d', [1, 'meta']);
    apply('d', undefined);
    apply('d', 7);
    expect(owed()).toEqual(['d meta']);
  });

  it('forgets conversions of sites that have left', () => {
    const first = receive('e', ['meta']);
    unsettled.forget((site) => site === 'other.example');
    expect([owed(), unsettled.settledUpTo]).toEqual([['e meta'], first - 1]);
    unsettled.forget((site) => site === 'shop.example');
    expect([owed(), unsettled.settledUpTo]).toEqual([[], first]);
  });

  it('remembers a limited number of conversions, and reads the others again', async () => {
    const platforms = fc.subarray(['meta', 'ga4', 'x'], { minLength: 1 });
    const rounds = fc.array(fc.tuple(fc.array(platforms, { maxLength: 8 }), fc.nat(6)), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(rounds, fc.integer({ min: 1, max: 5 }), async (rounds, max) => {
        const events: EventField[] = [];
        const append = (event: Pick<EventField, 'stream' | 'isOpening' | 'value'>) =>
          events.push({ ...event, position: events.length + 1, site: 'shop.example', timeMs: 0 });
        const log = {
          readFields: async ({ after, until }: FieldOptions) =>
            events.filter(({ position }) => position > after && position <= until),
          read: async () => [],
        };
        const [limited, unlimited] = [max, Number.POSITIVE_INFINITY].map(
          (each) => new UnsettledConversions(0, () => 0, each),
        ) as [UnsettledConversions, UnsettledConversions];
        const round = async (received: string[][], attempts: number) => {
          for (const each of received)
            append({ stream: `c${events.length}`, isOpening: true, value: JSON.stringify(each) });
          for (const fold of [limited, unlimited]) await readUnsettled(log, fold, events.length, () => true);
          const [some, all] = [[...limited.owed(1)], [...unlimited.owed(1)]];
          const isPart = some.every(({ conversion }, index) => conversion === all[index]?.conversion);
          const remembered = new Set(some.map(({ conversion }) => conversion)).size;
          expect({ isPart, isLimited: remembered <= max, settledUpTo: limited.settledUpTo }).toEqual({
            isPart: true,
            isLimited: true,
            settledUpTo: unlimited.settledUpTo,
          });
          for (const { conversion, platform } of some.slice(0, attempts))
            append({ stream: conversion, isOpening: false, value: JSON.stringify(platform) });
          return all.length;
        };
        for (const [received, attempts] of rounds) await round(received, attempts);
        for (let left = 500; left > 0 && (await round([], events.length)) > 0; left -= 1);
        expect([[...unlimited.owed(1)], limited.settledUpTo]).toEqual([[], events.length]);
      }),
      { seed: 16, numRuns: 60 },
    );
  });
});
