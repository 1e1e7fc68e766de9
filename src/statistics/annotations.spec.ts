import { InMemoryLog } from '../../test/support/in-memory-log.js';
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
});
