import { InMemoryLog } from '../../../test/support/in-memory-log.js';
import { uuidv7 } from '../../kernel/uuid.js';
import { owedCheck } from './owed.check.js';

const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const MINUTE = 60_000;
const iso = (ms: number) => new Date(ms).toISOString();

describe('owed check', () => {
  let now: number;
  let log: InMemoryLog;
  const streams: [category: string, id: string][] = [];

  beforeEach(() => {
    streams.length = 0;
    now = NOW - 60 * MINUTE;
    log = new InMemoryLog(() => now);
  });

  async function append(category: string, id: string, type: string, data: object) {
    if (!streams.some(([, known]) => known === id)) streams.push([category, id]);
    const target = { category, stream: id, site: 'shop.example', actor: 'system' };
    await log.append({ ...target, expected: 'any', events: [{ type, data }] });
  }
  const receive = async (platforms: readonly string[], id = uuidv7()) => {
    await append('conversion', id, 'conversion.received.v1', { conversionId: id, platforms });
    return id;
  };
  const outcome = (id: string, status: string, data: object) =>
    append('conversion', id, `conversion.${status}.v1`, { conversionId: id, status, attempt: 1, ...data });
  const site = (type: string, platform: string, data: object = {}) =>
    append('site', 's1', `site.platform_${type}.v1`, { platform, ...data });
  const connect = async (platform: string) => {
    await append('site', 's1', 'site.registered.v1', { host: 'shop.example', aliases: [] });
    await site('connected', platform, { settings: { pixel_id: '1' } });
  };
  async function finding() {
    const check = owedCheck(() => false, NOW);
    for (const [category, id] of streams) check.read(await log.readStream(category, id));
    return check.finish();
  }

  it('passes if every delivery is final or accepted', async () => {
    const id = await receive(['meta', 'segment', 'reddit']);
    await outcome(id, 'delivered', { platform: 'meta' });
    await outcome(id, 'failed', { platform: 'segment' });
    await outcome(id, 'accepted', { platform: 'reddit', nextTry: iso(NOW - 30 * MINUTE) });
    expect(await finding()).toEqual({ ok: true, detail: 'no delivery' });
  });

  it('fails on a conversion without an outcome that is older than a crash explains', async () => {
    const lost = await receive(['meta', 'segment']);
    await outcome(lost, 'delivered', { platform: 'meta' });
    now = NOW - MINUTE;
    await receive(['meta']);
    const { ok, detail } = await finding();
    expect(ok).toBe(false);
    expect(detail).toContain(`conversion-${lost} at position 1: segment was due ${iso(NOW - 60 * MINUTE + 40_000)}`);
    expect(detail).toContain('2 deliveries');
    expect(detail).not.toContain('meta was due');
  });

  it('explains a conversion without an outcome by the pause of its site, and for a while by its end', async () => {
    await connect('meta');
    await receive(['meta']);
    await append('site', 's1', 'site.paused.v1', {});
    expect(await finding()).toMatchObject({ ok: true, detail: expect.stringContaining('1 of them held back') });
    now = NOW - 10 * MINUTE;
    await append('site', 's1', 'site.resumed.v1', {});
    expect((await finding()).ok).toBe(true);
    now = NOW;
    const later = owedCheck(() => false, NOW + 10 * MINUTE);
    for (const [category, id] of streams) later.read(await log.readStream(category, id));
    expect(later.finish()).toMatchObject({ ok: false, detail: expect.stringContaining('has no outcome') });
  });

  it('passes for a delivery whose next attempt is not due, and fails for one that was forgotten', async () => {
    const waiting = await receive(['meta']);
    await outcome(waiting, 'deferred', { platform: 'meta', reason: 'timeout', nextTry: iso(NOW + MINUTE) });
    expect((await finding()).ok).toBe(true);
    const forgotten = await receive(['meta']);
    await outcome(forgotten, 'deferred', { platform: 'meta', reason: 'timeout', nextTry: iso(NOW - 30 * MINUTE) });
    const { ok, detail } = await finding();
    expect([ok, detail]).toEqual([false, expect.stringContaining(`conversion-${forgotten}`)]);
    expect(detail).not.toContain(waiting);
  });

  it('passes for a backlog that its connection is working on', async () => {
    const waiting = await receive(['meta']);
    await outcome(waiting, 'deferred', { platform: 'meta', reason: 'timeout', nextTry: iso(NOW - 30 * MINUTE) });
    now = NOW - MINUTE;
    const other = await receive(['meta']);
    await outcome(other, 'deferred', { platform: 'meta', reason: 'timeout', nextTry: iso(NOW + MINUTE) });
    expect((await finding()).ok).toBe(true);
  });

  it('fails on a request for a delivery that nothing has carried out', async () => {
    const id = await receive(['meta']);
    await outcome(id, 'failed', { platform: 'meta', reason: 'x' });
    await append('conversion', id, 'conversion.send_requested.v1', { conversionId: id, platform: 'meta', attempt: 1 });
    expect((await finding()).ok).toBe(false);
  });

  it('explains what a parked or paused connection holds back, until it is resumed', async () => {
    await connect('meta');
    const id = await receive(['meta']);
    await outcome(id, 'deferred', { platform: 'meta', reason: 'circuit_open', nextTry: iso(NOW - 50 * MINUTE) });
    await site('parked', 'meta');
    expect(await finding()).toMatchObject({ ok: true, detail: expect.stringContaining('1 of them held back') });
    await site('resumed', 'meta');
    expect((await finding()).ok).toBe(false);
    await site('parked', 'meta');
    now = NOW - MINUTE;
    await site('connected', 'meta', { settings: { pixel_id: '2' } });
    expect((await finding()).ok).toBe(true);
  });

  it('explains what an operator has paused, also after other settings were given', async () => {
    await connect('meta');
    const id = await receive(['meta']);
    await outcome(id, 'deferred', { platform: 'meta', reason: 'timeout', nextTry: iso(NOW - 50 * MINUTE) });
    await site('paused', 'meta');
    await site('connected', 'meta', { settings: { pixel_id: '2' } });
    expect(await finding()).toMatchObject({ ok: true, detail: expect.stringContaining('1 of them held back') });
    await site('disconnected', 'meta');
    expect((await finding()).ok).toBe(false);
  });

  it('explains what waits for a paused site, and counts from when it was resumed', async () => {
    await connect('meta');
    const id = await receive(['meta']);
    await outcome(id, 'deferred', { platform: 'meta', reason: 'timeout', nextTry: iso(NOW - 50 * MINUTE) });
    await append('site', 's1', 'site.paused.v1', {});
    expect(await finding()).toMatchObject({ ok: true, detail: expect.stringContaining('1 of them held back') });
    now = NOW - MINUTE;
    await append('site', 's1', 'site.resumed.v1', {});
    expect(await finding()).toMatchObject({ ok: true, detail: expect.stringContaining('0 of them held back') });
  });

  it('fails on what waited for a paused site if nothing attempts it after it was resumed', async () => {
    await connect('meta');
    const id = await receive(['meta']);
    await outcome(id, 'deferred', { platform: 'meta', reason: 'timeout', nextTry: iso(NOW - 50 * MINUTE) });
    await append('site', 's1', 'site.paused.v1', {});
    now = NOW - 30 * MINUTE;
    await append('site', 's1', 'site.resumed.v1', {});
    expect(await finding()).toMatchObject({ ok: false, detail: expect.stringContaining(`conversion-${id}`) });
  });

  it('fails on what a parked connection held back if nothing attempts it after it was resumed', async () => {
    await connect('meta');
    const id = await receive(['meta']);
    await site('parked', 'meta');
    await outcome(id, 'deferred', { platform: 'meta', reason: 'authorization', nextTry: iso(now + 5_000) });
    expect(await finding()).toMatchObject({ ok: true, detail: expect.stringContaining('1 of them held back') });
    now = NOW - 50 * MINUTE;
    await site('resumed', 'meta');
    expect(await finding()).toMatchObject({ ok: false, detail: expect.stringContaining(`conversion-${id}`) });
  });
});
