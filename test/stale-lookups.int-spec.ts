import { allProjections } from '../src/app/projections.js';
import { ConversionImporter } from '../src/conversions/import/conversion-importer.js';
import { ReceiveConversion } from '../src/conversions/receive-conversion.command.js';
import { ConversionReceiver, type StoredConversion } from '../src/conversions/receive-conversion.handler.js';
import { CONVERSION } from '../src/events/conversion.events.js';
import { subjectOf } from '../src/kernel/email.js';
import { Sealer } from '../src/kernel/sealing.js';
import type { AppendRequest } from '../src/log/event.js';
import type { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import type { SiteKey } from '../src/sites/site.js';
import type { LoadedSite, SiteDirectory } from '../src/sites/site-directory.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { DEFAULT_SITE_SETTINGS } from '../src/sites/site-settings.js';
import { Erasure } from '../src/visitors/erasure/erasure.js';
import { LateMatches } from '../src/visitors/late-matches.js';
import { Matcher } from '../src/visitors/matcher.js';
import { type VisitorRecord } from '../src/visitors/visitor-record.js';
import { useLog } from './support/databases.js';
import { type DrawnCall, TagCallers } from './support/tag-callers.js';

const DAY_MS = 86_400_000;
const RULES = { dedupWindowMs: DAY_MS, identifierTtlMs: 90 * DAY_MS };
const HOST = 'shop.example';
const RECEIVED = 'conversion.received.v1';
const KEY = { id: 'k1', trial: false } as SiteKey;
const CALL: DrawnCall = {
  ...{ by: 0, call: 'identify', isBot: false, consent: 'none', kinds: ['gclid'], statedAge: 5 },
  ...{ sendsCookie: true, sendsStatement: true },
};

/** A look-up after which something happens before its result is used. */
class OvertakenMatcher extends Matcher {
  lookups = 0;
  overtake: (lookup: number) => Promise<void> = async () => {};

  override async find(...args: Parameters<Matcher['find']>): Promise<VisitorRecord> {
    const record = await super.find(...args);
    this.lookups += 1;
    await this.overtake(this.lookups);
    return record;
  }
}

const { postgres, log } = await useLog();
/** Of another instance. */
const otherLog = new PostgresEventLog(postgres);
const projections = () => allProjections(new SiteSecrets(postgres.pool, new Sealer(Buffer.alloc(32))));
const erasure = new Erasure(postgres, projections(), async () => {});
afterAll(() => otherLog.close());

describe('a conversion that is overtaken by another instance after its look-up', () => {
  let matcher: OvertakenMatcher;
  let people = 0;

  beforeEach(() => {
    matcher = new OvertakenMatcher(postgres, (error) => {
      throw error;
    });
  });
  afterEach(() => matcher.close());

  const site = { host: HOST, settings: DEFAULT_SITE_SETTINGS } as LoadedSite['site'];
  const loadedSite = { site, dedupSecret: 'secret', connections: new Map() } as unknown as LoadedSite;

  const person = () => {
    people += 1;
    const email = `jane-${people}@example.com`;
    const tag = new TagCallers(otherLog, site, subjectOf(email), `own-${people}`, () => postgres.clock.nowMs());
    const fields = { email, event: 'purchase', value: 12, currency: 'EUR', orderId: `ORD-${people}` };
    return {
      subject: subjectOf(email),
      command: new ReceiveConversion(loadedSite, KEY, fields, RULES),
      /** Twice: a landing counts from a visitor that the service has seen before. */
      async visit() {
        for (let calls = 0; calls < 2; calls += 1) await tag.send({ ...CALL, call: 'collect' });
      },
      identify: () => tag.send(CALL),
      identifyLater: () => tag.send({ ...CALL, kinds: [] }),
      erase: () => erasure.erase('cli', HOST, subjectOf(email)),
    };
  };

  const paths: Record<string, (command: ReceiveConversion) => Promise<unknown>> = {
    async received(command) {
      return new ConversionReceiver(log, matcher, postgres.clock).receive(command);
    },
    async 'received in a batch'(command) {
      const [stored] = await new ConversionReceiver(log, matcher, postgres.clock).receiveAll([command]);
      return (stored as PromiseFulfilledResult<StoredConversion>).value;
    },
    async imported(command) {
      const dependencies = { actor: 'cli' as const, log, matcher, clock: postgres.clock };
      const pause = async () => {
        throw new Error('The log is unavailable');
      };
      const importer = new ConversionImporter({ ...dependencies, pause });
      expect(await importer.store([command])).toEqual(['accepted']);
    },
  };

  /** The conversion of the person, as it is stored. */
  const stored = async (orderId: string) => (await log.find(HOST, orderId, { types: [RECEIVED], limit: 5 })).at(-1);

  describe.each(Object.entries(paths))('when it is %s', (_, store) => {
    it('has the visit of a person that was identified in between', async () => {
      const jane = person();
      matcher.overtake = async (lookup) => {
        if (lookup === 1) await jane.identify();
      };
      await store(jane.command);
      expect(matcher.lookups).toBe(2);
      expect(await stored(jane.command.fields.orderId as string)).toMatchObject({
        data: { matched: true },
        personal: { visit: { clicks: { gclid: { id: expect.stringMatching(/^own/) } } } },
      });
    });

    it('has no visit of a person that was erased in between', async () => {
      const jane = person();
      await jane.identify();
      matcher.overtake = async (lookup) => {
        if (lookup === 1) await jane.erase();
      };
      await store(jane.command);
      const event = await stored(jane.command.fields.orderId as string);
      expect(event?.data).not.toHaveProperty('matched');
      expect(event?.personal).not.toHaveProperty('visit');
      expect(JSON.stringify(event)).not.toContain('own-');
    });

    it('has its visit withheld when the person changes after each look-up', async () => {
      const jane = person();
      await jane.identify();
      matcher.overtake = jane.identify;
      await store(jane.command);
      expect(matcher.lookups).toBe(5);
      const event = await stored(jane.command.fields.orderId as string);
      expect(event?.data).toMatchObject({ withheld: expect.any(String) });
      expect(event?.personal).not.toHaveProperty('visit');
    });
  });

  describe('when it is matched later', () => {
    /** A conversion that was skipped because it had no visit, and a visit of the same person that is identified after it. */
    const matchLate = async (overtake: (jane: ReturnType<typeof person>) => Promise<unknown>) => {
      const jane = person();
      await jane.visit();
      const { opening } = await new ConversionReceiver(
        log,
        { absent: () => ({ identifiers: [], consent: [] }) } as never,
        postgres.clock,
      ).receive(jane.command);
      const { conversionId } = opening.data;
      const skipped = { conversionId, platform: 'meta', attempt: 1, status: 'skipped', reason: 'no_click_identifier' };
      await log.append({
        ...{ category: CONVERSION, stream: conversionId, expected: 1, site: HOST, actor: 'system' },
        events: [{ type: 'conversion.skipped.v1', data: skipped }],
      });
      await jane.identifyLater();
      const runner = new ProjectionRunner(postgres, projections());
      const connections = new Map([['meta', { connection: { settings: {} } }]]);
      const directory = { find: () => ({ ...loadedSite, connections }) } as unknown as SiteDirectory;
      const overtaken: EventLog = Object.create(log, {
        append: {
          value: async (request: AppendRequest) => {
            await overtake(jane);
            return log.append(request);
          },
        },
      });
      const lateMatches = new LateMatches(postgres, overtaken, directory, matcher, {
        platform: () => ({ payload: () => ({ item: {} }), account: [] }) as never,
        unmatchedPosition: async () => {
          await runner.catchUp('unmatched');
          return log.head();
        },
        sendableUntilMs: () => Number.POSITIVE_INFINITY,
        identifierTtlMs: RULES.identifierTtlMs,
        clock: postgres.clock,
      });
      lateMatches.scheduleScan();
      // Waits for the scan.
      await lateMatches.stop();
      expect(matcher.lookups).toBeGreaterThan(0);
      const events = await log.readStream(CONVERSION, conversionId);
      return events.filter(({ type }) => type === 'conversion.reopened.v1');
    };

    it('has the visit', async () => {
      expect(await matchLate(async () => {})).toMatchObject([{ personal: { visit: { clicks: { gclid: {} } } } }]);
    });

    it('has no visit of a person that was erased in between', async () => {
      expect(await matchLate((jane) => jane.erase())).toEqual([]);
    });
  });
});
