import { jest } from '@jest/globals';
import fc from 'fast-check';
import { InMemoryLog } from '../../test/support/in-memory-log.js';
import { pageBackwards } from './page-backwards.js';

async function logOf(sites: readonly string[]): Promise<InMemoryLog> {
  const log = new InMemoryLog();
  for (const [index, site] of sites.entries()) await append(log, site, index);
  return log;
}

async function append(log: InMemoryLog, site: string, index: number): Promise<void> {
  const events = [{ type: 'site.registered.v1', data: { host: site, aliases: [], index } }] as never;
  await log.append({ category: 'site', stream: `s${index}`, expected: 'any', site, actor: 'system', events });
}

describe('paging backwards', () => {
  it('returns every matching event once, newest first', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('a.example', 'b.example'), { maxLength: 30 }),
        fc.integer({ min: 1, max: 7 }),
        async (sites, limit) => {
          const log = await logOf(sites);
          const seen: number[] = [];
          let before: number | undefined = (await log.head()) + 1;
          while (before !== undefined) {
            const page: Awaited<ReturnType<typeof pageBackwards>> = await pageBackwards(log, {
              site: 'a.example',
              before,
              limit,
            });
            expect(page.events.length).toBeLessThanOrEqual(limit);
            seen.push(...page.events.map(({ position }) => position));
            before = page.next;
          }
          const all = (await log.read({ site: 'a.example' })).map(({ position }) => position);
          expect(seen).toEqual(all.reverse());
        },
      ),
    );
  });

  it('passes the positions that a failover left out at once', async () => {
    const log = await logOf(['a.example', 'b.example']);
    log.skipPositions(1_000_000_000);
    await append(log, 'b.example', 2);
    const read = jest.spyOn(log, 'read');
    const page = await pageBackwards(log, { site: 'a.example', before: (await log.head()) + 1, limit: 10 });
    expect(page).toMatchObject({ events: [{ position: 1 }] });
    expect(page.next).toBeUndefined();
    expect(read.mock.calls.length).toBeLessThan(10);
  });

  it('reads no more events than the page has', async () => {
    const log = await logOf(Array.from({ length: 20 }, () => 'a.example'));
    const read = jest.spyOn(log, 'read');
    await pageBackwards(log, { before: 21, limit: 5 });
    expect(read.mock.calls.map(([options]) => options?.limit)).toEqual([5]);
  });

  it('is done on an empty log', async () => {
    expect(await pageBackwards(new InMemoryLog(), { before: 1, limit: 10 })).toEqual({ events: [] });
  });
});
