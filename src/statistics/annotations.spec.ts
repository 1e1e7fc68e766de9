import { InMemoryLog } from '../../test/support/in-memory-log.js';
import { recordVersion } from '../app/record-version.js';
import { uuidv7 } from '../kernel/uuid.js';
import { readAnnotations } from './annotations.js';

const ALWAYS = { fromMs: 0, toMs: Date.parse('2100-01-01T00:00:00Z') };

describe('the annotations of a period', () => {
  let log: InMemoryLog;

  beforeEach(() => {
    log = new InMemoryLog();
  });

  const pause = (site: string, platform: string) =>
    log.append({
      ...{ category: 'site', stream: uuidv7(), expected: 'new', site, actor: 'system' },
      events: [{ type: 'site.platform_paused.v1', data: { platform } }],
    });

  it('are those of the sites that were asked for, however many others changed since', async () => {
    await pause('a.example', 'meta');
    await pause('b.example', 'google_ads');
    for (let count = 0; count < 450; count += 1) await pause('busy.example', 'meta');
    expect(await readAnnotations(log, ['a.example', 'b.example'], ALWAYS)).toMatchObject([
      { site: 'a.example', kind: 'paused', platform: 'meta' },
      { site: 'b.example', kind: 'paused', platform: 'google_ads' },
    ]);
  });

  it('are the newest ones, oldest first', async () => {
    for (let count = 0; count < 250; count += 1) await pause('a.example', `meta:${count}`);
    await pause('b.example', 'meta');
    const found = await readAnnotations(log, ['a.example', 'b.example'], ALWAYS);
    expect(found).toHaveLength(200);
    expect([found[0], found.at(-1)]).toMatchObject([{ platform: 'meta:51' }, { site: 'b.example' }]);
  });

  it('have the versions that started in the period, for every site, where they happened', async () => {
    let nowMs = Date.parse('2026-11-16T10:00:00Z');
    log = new InMemoryLog(() => nowMs);
    await recordVersion(log, '0.2.0');
    nowMs += 60_000;
    const fromMs = nowMs;
    await pause('a.example', 'meta');
    await recordVersion(log, '0.3.0');
    await pause('a.example', 'ga4');
    nowMs += 60_000;
    await recordVersion(log, '0.4.0');
    expect(await readAnnotations(log, ['a.example'], { fromMs, toMs: nowMs })).toEqual([
      expect.objectContaining({ kind: 'paused', platform: 'meta' }),
      { time: '2026-11-16T10:01:00.000Z', kind: 'version', version: '0.3.0' },
      expect.objectContaining({ kind: 'paused', platform: 'ga4' }),
    ]);
  });
});
