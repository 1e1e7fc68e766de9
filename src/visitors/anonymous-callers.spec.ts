import fc from 'fast-check';
import { InMemoryLog } from '../../test/support/in-memory-log.js';
import { type DrawnCall, drawnCalls, foldRecord, TagCallers } from '../../test/support/tag-callers.js';
import type { SiteSettings } from '../events/site.events.js';
import type { Site } from '../sites/site.js';
import { DEFAULT_SITE_SETTINGS } from '../sites/site-settings.js';
import { StateConsent } from './change-consent.command.js';
import { StateConsentHandler } from './change-consent.handler.js';
import { filtersBots, type Match, matchOf } from './matcher.js';

const JANE = 'ab'.repeat(32);
const START = Date.parse('2026-11-15T12:00:00Z');
const MINUTE_MS = 60_000;
const TTL_MS = 90 * 24 * 60 * MINUTE_MS;
const SEED = 20_261_116;
const RANK = { denied: 0, unknown: 1, granted: 2 } as const;

const own = drawnCalls(['none', 'granted', 'denied'], { bots: false, max: 4 });
const hostile = drawnCalls(['none', 'granted', 'denied', 'gpc', 'partial'], { bots: true, max: 8 });

/** What a person's record means after the person's own calls, and after calls of others about the same email. */
async function play(
  ownCalls: readonly DrawnCall[],
  hostileCalls: readonly DrawnCall[],
  changed: Partial<SiteSettings>,
) {
  const site = { host: 'shop.example', settings: { ...DEFAULT_SITE_SETTINGS, ...changed } } as Site;
  let nowMs = START;
  const clock = () => nowMs;
  const log = new InMemoryLog(clock);
  const later = () => {
    nowMs += MINUTE_MS;
  };
  const match = async (landedByMs?: number): Promise<Match> => {
    const record = foldRecord(await log.read(), JANE);
    const seen = landedByMs === undefined ? undefined : { byMs: landedByMs };
    return matchOf(record, site.settings, landedByMs ?? nowMs, TTL_MS, seen);
  };
  const jane = new TagCallers(log, site, JANE, 'own', clock);
  for (const call of ownCalls) {
    await jane.send(call);
    later();
  }
  const before = await match();
  const convertedMs = nowMs;
  const lateBefore = await match(convertedMs);
  later();
  const others = new TagCallers(log, site, JANE, 'hostile', clock);
  for (const call of hostileCalls) {
    await others.send(call);
    later();
  }
  const hasOwnVisit =
    foldRecord(
      (await log.read()).filter(({ time }) => Date.parse(time) <= convertedMs),
      JANE,
    ).identifiers.length > 0;
  return {
    site,
    log,
    match,
    before,
    after: await match(),
    hasOwnVisit,
    late: { before: lateBefore, after: await match(convertedMs) },
  };
}

const settings = fc.record({ consentRequired: fc.boolean(), botThreshold: fc.constantFrom(30, 60) });
const holds = (
  property: (played: Awaited<ReturnType<typeof play>>) => void | Promise<void>,
  hostileCalls: typeof hostile = hostile,
) =>
  fc.assert(
    fc.asyncProperty(own, hostileCalls, settings, async (mine, theirs, changed) =>
      property(await play(mine, theirs, changed)),
    ),
    { seed: SEED, numRuns: 150 },
  );

describe('calls of others about a person, with and without visits of the person', () => {
  it('never have a conversion with an order filtered, nor any conversion of a person with a visit', () =>
    holds(({ site, after, hasOwnVisit }) => {
      expect(filtersBots(site.settings, 'ORD-1')).toBe(false);
      if (hasOwnVisit) expect(after.isBot).toBeUndefined();
    }));

  it('never widen consent', () =>
    holds(({ before, after, late, hasOwnVisit }) => {
      if (hasOwnVisit) expect(RANK[late.after.consent]).toBeLessThanOrEqual(RANK[late.before.consent]);
      if (before.withheld === 'opted_out') expect(after).toMatchObject({ consent: 'denied', withheld: 'opted_out' });
      if (hasOwnVisit) expect(RANK[after.consent]).toBeLessThanOrEqual(RANK[before.consent]);
      if (hasOwnVisit && before.withheld) expect(after.visit).toBeUndefined();
    }));

  it('never replace a click without a landing that the service saw', () =>
    holds(
      ({ before, after }) => {
        if (!after.visit) return;
        for (const [kind, click] of Object.entries(before.visit?.clicks ?? {}))
          expect([kind, after.visit.clicks[kind as 'gclid']]).toEqual([kind, click]);
      },
      hostile.map((calls) => calls.map((call) => ({ ...call, sendsCookie: false }))),
    ));

  it('add nothing to a conversion that was received before', () =>
    holds(({ late }) => {
      if (late.after.visit) expect(late.after.visit).toEqual(late.before.visit);
      expect(JSON.stringify(late.after.visit ?? {})).not.toContain('hostile');
    }));

  it('are undone by a statement of an operator, as far as they narrowed consent', () =>
    holds(async ({ log, match, before }) => {
      await new StateConsentHandler(log).execute(new StateConsent('cli', 'shop.example', JANE, 'granted'));
      const restored = await match();
      expect(restored).toMatchObject({ consent: 'granted' });
      expect(restored.withheld).toBeUndefined();
      if (before.visit)
        for (const kind of Object.keys(before.visit.clicks)) expect(restored.visit?.clicks).toHaveProperty(kind);
    }));
});
