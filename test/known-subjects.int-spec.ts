import { ReceiveConversion } from '../src/conversions/receive-conversion.command.js';
import { ConversionReceiver } from '../src/conversions/receive-conversion.handler.js';
import { subjectOf } from '../src/kernel/email.js';
import type { StoredEvent } from '../src/log/event.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { rebuildProjection } from '../src/log/projections/projection-rebuild.js';
import type { SiteKey } from '../src/sites/site.js';
import type { LoadedSite } from '../src/sites/site-directory.js';
import { DEFAULT_SITE_SETTINGS } from '../src/sites/site-settings.js';
import { identifiersProjection } from '../src/visitors/inline.projections.js';
import { KnownSubjects } from '../src/visitors/known-subjects.js';
import { Matcher } from '../src/visitors/matcher.js';
import { useLog } from './support/databases.js';
import { type DrawnCall, TagCallers } from './support/tag-callers.js';

const DAY_MS = 86_400_000;
const HOST = 'shop.example';
const CALL: DrawnCall = {
  ...{ by: 0, call: 'identify', isBot: false, consent: 'none', kinds: ['gclid'], statedAge: 5 },
  ...{ sendsCookie: true, sendsStatement: true },
};
const site = { host: HOST, settings: DEFAULT_SITE_SETTINGS } as LoadedSite['site'];
const loadedSite = { site, dedupSecret: 'secret', connections: new Map() } as unknown as LoadedSite;

const { postgres, log } = await useLog();
/** Of another instance. */
const otherLog = new PostgresEventLog(postgres);
afterAll(() => otherLog.close());

describe('people with stored data', () => {
  let known: KnownSubjects;

  beforeEach(() => {
    known = new KnownSubjects(postgres, log);
  });
  afterEach(() => known.stop());

  const send = (subject: string, call: Partial<DrawnCall> = {}) =>
    new TagCallers(otherLog, site, subject, 'own', () => postgres.clock.nowMs()).send({ ...CALL, ...call });

  /** The first check loads them, the second one finds the same tables. */
  const load = async () => {
    for (let checks = 0; checks < 2; checks += 1) await known.check();
  };

  it('are known from both tables and from newer events, and all are while they load', async () => {
    const [identified, consenting, stranger, later] = ['a1', 'a2', 'a3', 'a4'].map((part) => part.repeat(32)) as [
      ...[string, string, string, string],
    ];
    await send(identified);
    await send(consenting, { call: 'consent', consent: 'denied' });
    expect(known.absentAsOf(HOST, stranger)).toBeUndefined();
    await load();
    expect(known.absentAsOf(HOST, identified)).toBeUndefined();
    expect(known.absentAsOf(HOST, consenting)).toBeUndefined();
    expect(known.absentAsOf('other.example', identified)).toEqual(expect.any(Number));
    expect(known.absentAsOf(HOST, stranger)).toBe(await log.head());
    await send(later);
    for (const follower of log.readers()) await follower.poll();
    await known.check();
    expect(known.absentAsOf(HOST, later)).toBeUndefined();
  });

  it('are loaded again after a rebuild, which may bring back what was pruned', async () => {
    const pruned = 'b1'.repeat(32);
    await send(pruned);
    await postgres.pool.query(`DELETE FROM cc.identifiers WHERE subject = decode($1, 'hex')`, [pruned]);
    await load();
    expect(known.absentAsOf(HOST, pruned)).toEqual(expect.any(Number));
    await rebuildProjection(postgres, identifiersProjection);
    await known.check();
    expect(known.absentAsOf(HOST, pruned)).toBeUndefined();
    await load();
    expect(known.absentAsOf(HOST, pruned)).toBeUndefined();
    expect(known.absentAsOf(HOST, 'b2'.repeat(32))).toEqual(expect.any(Number));
  });

  it('are matched when another instance identified them before the conversion was stored', async () => {
    const matcher = new Matcher(
      postgres,
      (error) => {
        throw error;
      },
      known,
    );
    const receiver = new ConversionReceiver(log, matcher, postgres.clock);
    const key = { id: 'k1', trial: false } as SiteKey;
    const rules = { dedupWindowMs: DAY_MS, identifierTtlMs: 90 * DAY_MS };
    const convert = (email: string) =>
      receiver.receive(
        new ReceiveConversion(loadedSite, key, { email, event: 'lead', value: 1, currency: 'EUR' }, rules),
      );
    await load();
    const start = await log.head();
    const subjects: string[] = [];
    for (let turn = 0; turn < 60; turn += 1) {
      await known.check();
      const email = `jane-${turn}@example.com`;
      subjects.push(subjectOf(email));
      const identifying = send(subjectOf(email));
      // Committed before the look-up, at the same time, or at the same time as several others.
      if (turn % 3 === 0) await identifying;
      const others = Array.from({ length: turn % 5 }, (_, index) => convert(`other-${turn}-${index}@example.com`));
      await Promise.all([identifying, convert(email), ...others]);
    }
    expect(known.saved).toBeGreaterThan(0);
    const positions = (events: readonly StoredEvent[]) =>
      new Map(events.map((event) => [event.personal?.subject, event] as const));
    const identified = positions(await log.read({ after: start, types: ['visitor.identified.v1'] }));
    const received = positions(await log.read({ after: start, types: ['conversion.received.v1'] }));
    const missed = subjects.filter((subject) => {
      const [visit, conversion] = [identified.get(subject), received.get(subject)];
      const isBefore = (visit?.position ?? 0) < (conversion?.position ?? 0);
      const isMatched = 'matched' in (conversion?.data ?? {});
      return isBefore !== isMatched;
    });
    expect(missed).toEqual([]);
    await matcher.close();
  });
});
