import { InMemoryLog } from '../../../test/support/in-memory-log.js';
import { checkData } from '../../events/check-data.js';
import { CONVERSION, IMPORT_KEY_ID } from '../../events/conversion.events.js';
import type { SiteSettings } from '../../events/site.events.js';
import { subjectOf } from '../../kernel/email.js';
import { LogUnavailable } from '../../kernel/errors.js';
import { uuidv7 } from '../../kernel/uuid.js';
import type { AppendRequest } from '../../log/event.js';
import type { SiteKey } from '../../sites/site.js';
import type { LoadedSite } from '../../sites/site-directory.js';
import { DEFAULT_SITE_SETTINGS } from '../../sites/site-settings.js';
import type { VisitorRecord } from '../../visitors/visitor-record.js';
import { dedupKey } from '../dedup-key.js';
import type { InboundFields } from '../inbound/inbound-field.js';
import { ReceiveConversion } from '../receive-conversion.command.js';
import { ConversionImporter, type ImporterDependencies } from './conversion-importer.js';
import { DryRunLog } from './dry-run-log.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
const RULES = { dedupWindowMs: DAY_MS, identifierTtlMs: 90 * DAY_MS };
const KEY = { id: IMPORT_KEY_ID, trial: false } as SiteKey;
const RECORD: VisitorRecord = { identifiers: [], consent: [] };

/** The calls of a log that an import makes, for a log of which some differ. */
const bound = (log: InMemoryLog) => ({
  findOpened: log.findOpened.bind(log),
  find: log.find.bind(log),
  readOpenings: log.readOpenings.bind(log),
  append: log.append.bind(log),
});

describe('an import', () => {
  let nowMs: number;
  let log: InMemoryLog;
  let settings: Partial<SiteSettings>;

  beforeEach(() => {
    nowMs = Date.parse('2026-03-01T00:00:00Z');
    log = new InMemoryLog(() => nowMs);
    settings = {};
  });

  const order = (orderId: string | undefined, more: Partial<InboundFields> = {}): InboundFields => ({
    email: 'jane.doe@example.com',
    event: 'purchase',
    value: 12,
    currency: 'EUR',
    ...(orderId !== undefined && { orderId }),
    ...more,
  });
  const importer = (more: Partial<ImporterDependencies> = {}) =>
    new ConversionImporter({
      actor: 'cli:ada',
      log,
      matcher: { absent: () => undefined, find: async () => RECORD },
      clock: { nowMs: () => nowMs },
      pause: async () => {},
      ...more,
    });
  const commands = (lines: readonly InboundFields[], key = KEY) => {
    const site = { host: 'shop.example', settings: { ...DEFAULT_SITE_SETTINGS, ...settings } };
    const connections = new Map([['meta', { connection: { settings: { refund_event: 'refund' } } }]]);
    const loaded = { site, dedupSecret: 'secret', connections } as unknown as LoadedSite;
    return lines.map((fields) => new ReceiveConversion(loaded, key, fields, RULES));
  };
  const types = async () => (await log.read()).map(({ type }) => type);

  it('stores each line once, with the plan of its deliveries and without a key', async () => {
    expect(await importer().store(commands([order('A'), order('B')]))).toEqual(['accepted', 'accepted']);
    const events = await log.read();
    expect(events).toMatchObject([
      { actor: 'cli:ada', data: { orderId: 'A', keyId: IMPORT_KEY_ID, platforms: ['meta'] } },
      { actor: 'cli:ada', data: { orderId: 'B' } },
    ]);
    for (const { type, data } of events) expect(checkData(type, data)).toBeUndefined();
    expect(JSON.stringify(events)).not.toContain('jane');
  });

  it('stores each of several refunds of an order, and rejects one without an order', async () => {
    const lines = [10, 20, 10].map((value) => order('A', { event: 'refund', value }));
    const noOrder = order(undefined, { event: 'refund' });
    expect(await importer().store(commands([...lines, noOrder]))).toEqual([
      ...['accepted', 'accepted', 'deduplicated'],
      { rejected: 'orderId is required for refund' },
    ]);
    expect((await log.read()).map(({ data }) => (data as { correction?: true }).correction)).toEqual([true, true]);
  });

  it('that is repeated after the dedup window changes nothing', async () => {
    const lines = [order('A'), order(undefined), order(undefined, { occurredAt: '2026-02-01T00:00:00.000Z' })];
    expect(await importer().store(commands(lines))).toEqual(['accepted', 'accepted', 'accepted']);
    nowMs += 400 * DAY_MS;
    expect(await importer().store(commands(lines))).toEqual(['deduplicated', 'deduplicated', 'deduplicated']);
    expect(await log.head()).toBe(3);
  });

  it('takes a second line of the same conversion for a duplicate, also with a dedup window of 0', async () => {
    settings = { dedupWindow: '0s' };
    const one = importer();
    expect(await one.store(commands([order('A'), order('A'), order(undefined), order(undefined)]))).toEqual([
      'accepted',
      'deduplicated',
      'accepted',
      'deduplicated',
    ]);
    expect(await one.store(commands([order('A')]))).toEqual(['deduplicated']);
    expect(await log.head()).toBe(2);
  });

  it('takes an order with another value for a duplicate at any time', async () => {
    await importer().store(commands([order('A')]));
    nowMs += 400 * DAY_MS;
    expect(await importer().store(commands([order('A', { value: 99, phone: '+49 30 1234567' })]))).toEqual([
      'deduplicated',
    ]);
    expect(await log.head()).toBe(1);
  });

  it('distinguishes trial lines from others', async () => {
    await importer().store(commands([order('A')]));
    expect(await importer().store(commands([order('A')], { ...KEY, trial: true }))).toEqual(['accepted']);
  });

  it('stores a duplicate of a posted conversion once, and still knows it after the dedup window', async () => {
    const posted = { ...order('A'), trial: false };
    const first = uuidv7();
    await log.append({
      category: CONVERSION,
      stream: first,
      expected: 'new',
      site: 'shop.example',
      actor: 'key:k',
      events: [{ type: 'conversion.received.v1', data: { ...posted, conversionId: first, value: 11 } }],
      claim: { key: dedupKey('secret', posted, subjectOf('jane.doe@example.com')), windowMs: DAY_MS, weak: false },
    });
    expect(await importer().store(commands([order('A')]))).toEqual(['deduplicated']);
    expect((await log.read())[1]).toMatchObject({
      type: 'conversion.deduplicated.v1',
      data: { firstConversionId: first, differs: expect.arrayContaining(['value']) },
    });
    nowMs += 2 * DAY_MS;
    expect(await importer().store(commands([order('A')]))).toEqual(['deduplicated']);
    expect(await log.head()).toBe(2);
  });

  it('accepts a filtered line once it is not filtered any more, and once only', async () => {
    settings = { blocked: [subjectOf('jane.doe@example.com')] };
    expect(await importer().store(commands([order('A')]))).toEqual(['filtered']);
    expect(await importer().store(commands([order('A')]))).toEqual(['deduplicated']);
    settings = {};
    expect(await importer().store(commands([order('A')]))).toEqual(['accepted']);
    expect(await importer().store(commands([order('A')]))).toEqual(['deduplicated']);
    settings = { blocked: [subjectOf('jane.doe@example.com')] };
    nowMs += 2 * DAY_MS;
    expect(await importer().store(commands([order('A')]))).toEqual(['deduplicated']);
    expect(await types()).toEqual(['conversion.filtered.v1', 'conversion.received.v1']);
  });

  it('counts a line once whose append was stored without an answer', async () => {
    let failures = 2;
    const unanswered = {
      ...bound(log),
      append: async (request: AppendRequest) => {
        const outcome = await log.append(request);
        if (failures-- > 0) throw new LogUnavailable('The append timed out');
        return outcome;
      },
    };
    const lines = [order('A'), order('B'), order('C')];
    expect(await importer({ log: unanswered }).store(commands(lines))).toEqual(['accepted', 'accepted', 'accepted']);
    expect(await log.head()).toBe(3);
  });

  it('counts a line as a duplicate that another import has stored while its append had no answer', async () => {
    const other = importer();
    let failures = 2;
    const refusing = {
      ...bound(log),
      append: async (request: AppendRequest) => {
        if (failures-- <= 0) return log.append(request);
        await other.store(commands([order('A'), order('B')]));
        throw new LogUnavailable('The append timed out');
      },
    };
    expect(await importer({ log: refusing }).store(commands([order('A'), order('B')]))).toEqual([
      'deduplicated',
      'deduplicated',
    ]);
    expect(await log.head()).toBe(2);
  });

  it('waits while the log is unavailable, and stores nothing twice', async () => {
    const rounds: number[] = [];
    const stalled = {
      ...bound(log),
      findOpened: async (category: string, streams: readonly string[]) => {
        if (rounds.length < 3) throw new LogUnavailable('The log did not answer in time');
        return log.findOpened(category, streams);
      },
    };
    const pause = async (round: number) => void rounds.push(round);
    expect(await importer({ log: stalled, pause }).store(commands([order('A')]))).toEqual(['accepted']);
    expect(rounds).toEqual([0, 1, 2]);
  });

  it('ends while it waits when it is interrupted', async () => {
    const pause = () => Promise.reject(new Error('interrupted'));
    const down = { ...log, findOpened: () => Promise.reject(new LogUnavailable('down')) } as unknown as InMemoryLog;
    await expect(importer({ log: down, pause }).store(commands([order('A')]))).rejects.toThrow('interrupted');
  });

  it('reads a visitor record again that cannot be read at first', async () => {
    let reads = 0;
    const matcher = {
      absent: () => undefined,
      find: async () => (++reads < 3 ? { ...RECORD, consent: 'unreadable' as const } : RECORD),
    };
    await importer({ matcher }).store(commands([order('A')]));
    expect((await log.read())[0]?.data).not.toHaveProperty('withheld');
  });

  it('rejects a line that the log refuses and stores the others', async () => {
    const refusing = {
      ...bound(log),
      append: (request: AppendRequest) =>
        request.events[0].reference === 'A' ? Promise.reject(new Error('refused')) : log.append(request),
    };
    expect(await importer({ log: refusing }).store(commands([order('A'), order('B')]))).toEqual([
      { rejected: 'refused' },
      'accepted',
    ]);
  });

  it('running twice at the same time stores every line once', async () => {
    settings = { dedupWindow: '0s' };
    const lines = Array.from({ length: 50 }, (_, at) => order(`O-${at}`));
    const [one, other] = await Promise.all([importer().store(commands(lines)), importer().store(commands(lines))]);
    expect(await log.head()).toBe(50);
    expect([...one, ...other].filter((outcome) => outcome === 'accepted')).toHaveLength(50);
  });

  it('as a dry run counts the same and stores nothing', async () => {
    settings = { blocked: [subjectOf('spam@example.com')] };
    await importer().store(commands([order('A')]));
    const dryRun = new DryRunLog(log, async () => new Map(), { nowMs: () => nowMs });
    const one = importer({ log: dryRun });
    const lines = [order('A'), order('B'), order('B'), order('C', { email: 'spam@example.com' })];
    expect(await one.store(commands(lines))).toEqual(['deduplicated', 'accepted', 'deduplicated', 'filtered']);
    expect(await one.store(commands([order('B')]))).toEqual(['deduplicated']);
    expect(await log.head()).toBe(1);
  });

  it('as a dry run finds the live claims of posted conversions', async () => {
    const held = { stream: uuidv7(), weak: false, atMs: nowMs - DAY_MS / 2 };
    const found = async (_: string, keys: readonly string[]) => new Map(keys.map((key) => [key, held]));
    const dryRun = new DryRunLog(log, found, { nowMs: () => nowMs });
    expect(await importer({ log: dryRun }).store(commands([order('A')]))).toEqual(['deduplicated']);
    nowMs += DAY_MS;
    expect(await importer({ log: dryRun }).store(commands([order('Z')]))).toEqual(['accepted']);
    expect(await log.head()).toBe(0);
  });
});
