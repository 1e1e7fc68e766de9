import { InMemoryLog } from '../../test/support/in-memory-log.js';
import { ConversionEvents } from '../../test/support/statistics.js';
import type { SiteEvent, SiteSettings } from '../events/site.events.js';
import { uuidv7 } from '../kernel/uuid.js';
import type { NewEvent } from '../log/event.js';
import type { Site } from '../sites/site.js';
import { SiteRepository } from '../sites/site-repository.js';
import { loadBotList } from '../visitors/bots/bot-list.js';
import { BotScorer } from '../visitors/bots/bot-scorer.js';
import { previewSettings } from './settings-preview.js';

const HOST = 'shop.example';
const [JANE, JOHN] = ['aa'.repeat(32), 'bb'.repeat(32)] as const;
const scorer = new BotScorer(loadBotList(undefined));

let log: InMemoryLog;
let events: ConversionEvents;
let site: Site;

beforeEach(async () => {
  log = new InMemoryLog();
  events = new ConversionEvents(log, HOST);
  const registered: SiteEvent = { type: 'site.registered.v1', data: { host: HOST, aliases: [] } };
  site = await new SiteRepository(log).add(HOST, 'cli', () => registered);
});

function preview(change: Partial<SiteSettings>, nowMs = Date.now() + 1_000) {
  const dependencies = { log, scorer, dedupSecret: 'secret', defaultWindowMs: 24 * 60 * 60 * 1_000, nowMs };
  return previewSettings(dependencies, site, change);
}

const bot = (score: number) => ({ score, reasons: [], list: '1' });

async function visit(score: number, ip: string, detected?: 'observe' | 'enforce', id = uuidv7()): Promise<void> {
  const data = { visit: id, clicks: [], campaign: true, bot: bot(score) };
  const personal = { subject: JANE, clicks: {}, utm: {}, cookies: {}, signals: { ip } };
  await append({ type: 'visitor.visited.v1', data, personal });
  if (detected) await detect(score, detected, id);
}

/** Also of a page view that is not recorded otherwise. */
const detect = (score: number, mode: 'observe' | 'enforce', id = uuidv7()) =>
  append({ type: 'visitor.bot_detected.v1', data: { visit: id, mode, ...bot(score) } });

async function append(event: NewEvent): Promise<void> {
  const of = { category: 'visitor', stream: uuidv7(), expected: 'new', site: HOST, actor: 'tag' } as const;
  await log.append({ ...of, events: [event] });
}

describe('previewSettings', () => {
  it('finds no difference without a change', async () => {
    await events.decided('received', JANE, { orderId: 'A' });
    await events.decided('filtered', JOHN, { bot: bot(90) });
    await visit(90, '192.0.2.1', 'enforce');
    await visit(10, '192.0.2.1');
    expect(await preview({})).toMatchObject({
      complete: true,
      conversions: {
        received: { was: 1, would: 1 },
        deduplicated: { was: 0, would: 0 },
        filtered: { was: 1, would: 1 },
      },
      visits: { examined: 2, removed: { was: 1, would: 1 } },
      undecided: 0,
      untold: [],
    });
  });

  it('counts what another threshold or mode would have removed', async () => {
    await events.decided('received', JANE, { bot: bot(25) });
    await events.decided('received', JOHN, { bot: bot(25), orderId: 'A' });
    await visit(25, '192.0.2.1');
    expect(await preview({ botThreshold: 20 })).toMatchObject({
      conversions: { received: { was: 2, would: 1 }, filtered: { was: 0, would: 1 } },
      visits: { removed: { was: 0, would: 1 } },
    });
    expect(await preview({ botThreshold: 20, botFilter: 'all' })).toMatchObject({
      conversions: { filtered: { was: 0, would: 2 } },
    });
    expect(await preview({ botThreshold: 20, botMode: 'observe' })).toMatchObject({
      conversions: { filtered: { was: 0, would: 0 } },
      visits: { removed: { was: 0, would: 0 } },
    });
  });

  it('counts a visit once, however many of its calls are recorded', async () => {
    const id = uuidv7();
    await visit(10, '192.0.2.1', undefined, id);
    await visit(90, '192.0.2.1', 'enforce', id);
    await visit(90, '192.0.2.1', undefined, id);
    expect(await preview({})).toMatchObject({ visits: { examined: 1, removed: { was: 1, would: 1 } } });
  });

  it('counts detected visits of which nothing else is recorded', async () => {
    await detect(90, 'enforce');
    const id = uuidv7();
    await detect(70, 'enforce', id);
    await visit(10, '192.0.2.1', undefined, id);
    const removed = async (change: Partial<SiteSettings>) => (await preview(change)).visits;
    expect(await removed({})).toEqual({ examined: 2, removed: { was: 2, would: 2 } });
    expect(await removed({ botThreshold: 80 })).toEqual({ examined: 2, removed: { was: 2, would: 1 } });
    expect(await removed({ botMode: 'observe' })).toEqual({ examined: 2, removed: { was: 2, would: 0 } });
    // The page view cannot be scored again, so it keeps its score.
    expect(await removed({ blockIps: ['198.51.100.0/24'] })).toEqual({ examined: 2, removed: { was: 2, would: 2 } });
  });

  it('does not count a detected visit that other lists would not have detected', async () => {
    await visit(90, '192.0.2.1', 'enforce');
    expect(await preview({ blockIps: ['198.51.100.0/24'] })).toMatchObject({
      visits: { examined: 1, removed: { was: 1, would: 0 } },
    });
  });

  it('scores visits again with other lists', async () => {
    await visit(0, '192.0.2.1');
    await visit(0, '198.51.100.1');
    expect(await preview({ blockIps: ['192.0.2.0/24'] })).toMatchObject({
      visits: { removed: { was: 0, would: 1 } },
      // Conversions keep their scores.
      untold: ['blockIps'],
    });
  });

  it('counts conversions of a blocked address, and says what it cannot tell', async () => {
    await events.decided('received', JANE);
    await events.decided('received', JOHN);
    await events.decided('filtered', JOHN, { reason: 'blocked_address', event: 'lead' });
    const blocked = await preview({ blocked: [JANE, '@example.com'] });
    expect(blocked).toMatchObject({
      conversions: { received: { was: 2, would: 2 }, filtered: { was: 1, would: 1 } },
      untold: ['blocked'],
    });
    expect(await preview({ blockDisposable: true })).toMatchObject({ untold: ['blockDisposable'] });
  });

  it('decides on duplicates again with another window', async () => {
    const first = await events.decided('received', JANE, { orderId: 'A' });
    await events.decided('deduplicated', JANE, { orderId: 'A', firstConversionId: first });
    expect(await preview({})).toMatchObject({ conversions: { deduplicated: { was: 1, would: 1 } } });
    expect(await preview({ dedupWindow: '0s' })).toMatchObject({
      conversions: { received: { was: 1, would: 2 }, deduplicated: { was: 1, would: 0 } },
    });
  });

  it('counts conversions without consent', async () => {
    await events.decided('received', JANE, {}, { visit: { source: 'google' } });
    await events.decided('received', JOHN, { consent: 'denied', withheld: 'opted_out' });
    const consentWith = async (change: Partial<SiteSettings>) => (await preview(change)).consent;
    expect(await consentWith({})).toEqual({
      ...{ withheld: { was: 1, would: 1 }, withoutPerson: { was: 0, would: 0 }, notSent: { was: 0, would: 0 } },
    });
    expect(await consentWith({ withhold: 'personal' })).toMatchObject({
      ...{ withheld: { was: 1, would: 1 }, withoutPerson: { was: 0, would: 1 }, notSent: { was: 0, would: 0 } },
    });
    expect(await consentWith({ withhold: 'everything' })).toMatchObject({ notSent: { was: 0, would: 1 } });
    // Without a statement, a conversion counts as refused then, and is not sent either.
    expect(await consentWith({ consentRequired: true, withhold: 'everything' })).toMatchObject({
      withheld: { was: 1, would: 2 },
      notSent: { was: 0, would: 2 },
    });
  });

  it('does not count as withheld what no longer needs a consent', async () => {
    await events.decided('received', JANE, { consent: 'denied', withheld: 'consent_missing' });
    expect(await preview({ consentRequired: false, withhold: 'everything' })).toMatchObject({
      consent: { withheld: { was: 1, would: 0 }, notSent: { was: 0, would: 0 } },
    });
  });

  it('does not count trial conversions, nor what is older than a week', async () => {
    await events.decided('received', JANE, { trial: true });
    await events.decided('received', JOHN);
    expect(await preview({})).toMatchObject({ conversions: { received: { was: 1 } } });
    const later = Date.now() + 8 * 24 * 60 * 60 * 1_000;
    expect(await preview({}, later)).toMatchObject({ complete: true, conversions: { received: { was: 0 } } });
  });

  it('covers nothing before the events that it could read', async () => {
    const events = Array.from({ length: 10_500 }, () => ({
      type: 'visitor.bot_detected.v1',
      data: { mode: 'enforce' },
    }));
    const of = { category: 'visitor', expected: 'new', site: HOST, actor: 'tag' } as const;
    const [first, ...others] = events as [(typeof events)[0], ...typeof events];
    await log.append({ ...of, stream: uuidv7(), events: [first, ...others] });
    const nowMs = Date.now() + 1_000;
    const { complete, from, to } = await preview({ dedupWindow: '30d', botThreshold: 20 }, nowMs);
    expect({ complete, from, to }).toEqual({ complete: false, from: to, to: new Date(nowMs).toISOString() });
    // Visits do not matter for the window.
    expect(await preview({ dedupWindow: '30d' }, nowMs)).toMatchObject({ complete: true });
  });
});
