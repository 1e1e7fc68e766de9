import { jest } from '@jest/globals';
import { Logger } from '../src/kernel/logger.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import { derivedUuid } from '../src/kernel/uuid.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { erasureLock } from '../src/log/projections/projection-rebuild.js';
import { RETENTION_LOCK } from '../src/log/retention/retention-holds.js';
import { CLICK_KINDS } from '../src/platforms/click-ids.js';
import type { Site } from '../src/sites/site.js';
import { DEFAULT_SITE_SETTINGS } from '../src/sites/site-settings.js';
import { expireUnidentified } from '../src/visitors/erasure/expiry.js';
import { IdentifierPruner } from '../src/visitors/identifier-pruner.js';
import { Matcher, matchOf } from '../src/visitors/matcher.js';
import { createDatabase, openDatabase, useLog } from './support/databases.js';
import { arrive, copySite } from './support/site-copies.js';
import { type DrawnCall, foldRecord, TagCallers } from './support/tag-callers.js';
import { eventually } from './support/waiting.js';

const PERSON = 'ab'.repeat(32);
const site = { host: 'shop.example', settings: DEFAULT_SITE_SETTINGS } as Site;
const CALL: DrawnCall = {
  ...{ by: 0, call: 'identify', isBot: false, consent: 'none', kinds: ['gclid'], statedAge: 5 },
  ...{ sendsCookie: true, sendsStatement: true },
};

const { postgres, log } = await useLog();

describe('what anonymous callers store', () => {
  const callers = (subject: string | undefined, name: string) =>
    new TagCallers(log, site, subject, name, () => postgres.clock.nowMs());

  it('is read back by visitor, as the fold in memory has it', async () => {
    const [jane, other] = [callers(PERSON, 'own'), callers(PERSON, 'hostile')];
    await jane.send({ ...CALL, call: 'collect', consent: 'granted' });
    await jane.send({ ...CALL, consent: 'granted', kinds: ['gclid', 'fbclid'] });
    await other.send({ ...CALL, isBot: true });
    await other.send({ ...CALL, by: 1, call: 'consent', consent: 'denied', sendsCookie: false, sendsStatement: false });
    await other.send({ ...CALL, by: 2, call: 'consent', consent: 'granted' });
    const matcher = new Matcher(postgres, (error) => {
      throw error;
    });
    const [read, folded] = [await matcher.find(site, { subject: PERSON }), foldRecord(await log.read(), PERSON)];
    await matcher.close();
    const byKey = (rows: readonly (readonly unknown[])[] | string) =>
      [...(rows as readonly (readonly unknown[])[])].map((row) => JSON.stringify(row)).sort();
    expect(byKey(read.identifiers)).toEqual(byKey(folded.identifiers));
    expect(byKey(read.consent)).toEqual(byKey(folded.consent));
  });

  describe('about one person in great number', () => {
    const flood = {
      ...CALL,
      consent: 'granted',
      kinds: CLICK_KINDS,
      sendsCookie: false,
      sendsStatement: false,
    } as const;
    /** More rows than a lookup reads. */
    const FLOOD_CALLS = 90;
    let person = 0;
    const matchOfPerson = async (own: readonly Partial<DrawnCall>[], hostile: (subject: string) => Promise<void>) => {
      person += 1;
      const subject = String(person).padStart(64, 'c');
      const jane = callers(subject, 'own');
      for (const call of own) await jane.send({ ...CALL, ...call });
      await hostile(subject);
      const matcher = new Matcher(postgres, (error) => {
        throw error;
      });
      const record = await matcher.find(site, { subject });
      await matcher.close();
      expect(record.identifiers).toHaveLength(2_000);
      return matchOf(record, site.settings, postgres.clock.nowMs(), 90 * 86_400_000);
    };
    const repeat = (changed: Partial<DrawnCall>) => async (subject: string) => {
      const others = callers(subject, 'hostile');
      for (let each = 0; each < FLOOD_CALLS; each += 1) await others.send({ ...flood, ...changed });
    };

    it('has no lead filtered', async () => {
      const match = await matchOfPerson([{ sendsCookie: false }], repeat({ isBot: true }));
      expect(match).toMatchObject({ visit: { clicks: { gclid: { id: expect.stringMatching('^own') } } } });
      expect(match.isBot).toBeUndefined();
    });

    it.each([
      ['with a landing', [{ call: 'collect' }, {}]],
      ['without a cookie', [{ sendsCookie: false }]],
    ] as const)('replaces no click of a visitor %s', async (_, own) => {
      const match = await matchOfPerson(own, repeat({}));
      expect(match.visit?.clicks.gclid?.id).toMatch(/^own/);
    });

    it('widens no consent', async () => {
      const match = await matchOfPerson([{ call: 'collect' }, {}], async (subject) => {
        for (let each = 0; each < FLOOD_CALLS; each += 1) {
          const other = callers(subject, 'hostile');
          await other.send({ ...flood, call: 'collect' });
          await other.send({ ...flood, sendsCookie: true, sendsStatement: true });
        }
      });
      expect(match.consent).toBe('unknown');
    });
  });

  it('without an email loses its personal part early, and the log accounts for it', async () => {
    await callers(undefined, 'landing').send({ ...CALL, call: 'collect' });
    const head = await log.head();
    const before = await log.read();
    expect(await expireUnidentified(postgres, log, new Date(0))).toBe(0);
    expect(await expireUnidentified(postgres, log, new Date(postgres.clock.nowMs() + 60_000))).toBe(1);
    const after = await log.read({ until: head });
    expect(before.filter(({ personal }, index) => personal && !after[index]?.personal)).toMatchObject([
      { type: 'visitor.visited.v1', position: head },
    ]);
    expect(await log.read({ after: head })).toMatchObject([
      { type: 'visitor.erased.v1', data: { events: 1, identifiers: 0, claims: 0, unidentified: true } },
    ]);
    expect(await expireUnidentified(postgres, log, new Date(postgres.clock.nowMs() + 60_000))).toBe(0);
  });

  it('without an email stays although the clock was behind for a moment', async () => {
    await callers(undefined, 'landing').send({ ...CALL, call: 'collect' });
    const { rows } = await postgres.pool.query(
      `INSERT INTO cc.clock_steps SELECT last + 1, time, '2001-01-01' FROM cc.seals ORDER BY last DESC LIMIT 1 RETURNING position`,
    );
    expect(await expireUnidentified(postgres, log, new Date(postgres.clock.nowMs() - 60_000))).toBe(0);
    const owner = await postgres.connectAsOwner('test');
    await owner.query('DELETE FROM cc.clock_steps WHERE position = $1', [rows[0].position]);
    await owner.end();
    expect(await expireUnidentified(postgres, log, new Date(postgres.clock.nowMs() + 60_000))).toBe(1);
  });

  it("without an email stays while this machine's clock and the database's differ", async () => {
    await callers(undefined, 'landing').send({ ...CALL, call: 'collect' });
    const settings = { ...readSettings({}), unidentifiedTtlMs: -60_000 };
    const pruner = new IdentifierPruner(postgres, log, new Logger('silent'), settings);
    const position = await log.head();
    const parts = async () =>
      (await log.read({ after: position - 1, until: position })).map(({ personal }) => personal);
    jest.spyOn(Date, 'now').mockReturnValue(Date.parse('2126-01-01T00:00:00.000Z'));
    try {
      await pruner.prune();
    } finally {
      jest.restoreAllMocks();
    }
    expect(await parts()).not.toEqual([null]);
    await pruner.prune();
    expect(await parts()).toEqual([null]);
  });

  it.each([
    ['retention removes events', `pg_advisory_lock(${RETENTION_LOCK})`],
    ['an erasure runs', `pg_advisory_lock_shared(${erasureLock.classId}, hashtext('dedup'))`],
  ])('without an email stays while %s, which locks in another order', async (_, lock) => {
    await callers(undefined, 'landing').send({ ...CALL, call: 'collect' });
    const expire = () => expireUnidentified(postgres, log, new Date(postgres.clock.nowMs() + 60_000));
    const other = await postgres.connect('test');
    await other.query(`SELECT ${lock}`);
    await expect(expire()).rejects.toThrow(/lock timeout/);
    await other.end();
    expect(await expire()).toBe(1);
  });

  it('without an email expires by its own time in a log that it was copied into later', async () => {
    const target = await openDatabase(await createDatabase());
    const targetLog = new PostgresEventLog(target);
    await log.append({
      ...{ category: 'site', stream: derivedUuid(`site ${site.host}`), expected: 'any', site: site.host, actor: 'cli' },
      events: [{ type: 'site.registered.v1', data: { host: site.host, aliases: [] } }],
    });
    const [old, young] = [callers(undefined, 'old'), callers(undefined, 'young')];
    await old.send({ ...CALL, call: 'collect' });
    const tick = async (): Promise<Date> => {
      const since = postgres.clock.nowMs();
      await eventually(
        async () => postgres.clock.nowMs(),
        (nowMs) => nowMs > since + 1,
      );
      return new Date(postgres.clock.nowMs());
    };
    const before = await tick();
    await tick();
    await young.send({ ...CALL, call: 'collect' });
    await copySite(postgres, target, site.host);
    await arrive(target, site.host, 'a', 1);
    const visits = async () =>
      (await targetLog.read({ categories: ['visitor'] }))
        .filter(({ type, personal }) => type === 'visitor.visited.v1' && personal)
        .slice(-2).length;
    const kept = await visits();
    const copied = new Map<string, number>();
    expect(await expireUnidentified(target, targetLog, before, copied)).toBe(1);
    expect(await expireUnidentified(target, targetLog, before, copied)).toBe(0);
    expect(kept).toBe(2);
    expect(await expireUnidentified(target, targetLog, await tick(), copied)).toBe(1);
    await targetLog.close();
    await target.close();
  });
});
