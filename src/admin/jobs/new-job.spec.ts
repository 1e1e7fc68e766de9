import { jest } from '@jest/globals';
import { InMemoryLog } from '../../../test/support/in-memory-log.js';
import { UserError } from '../../kernel/errors.js';
import type { Site } from '../../sites/site.js';
import { prepareJob } from './new-job.js';

const SITE = { host: 'shop.example', connections: [] } as unknown as Site;

async function append(log: InMemoryLog, count: number): Promise<void> {
  const event = { type: 'inbound.rejected.v1', data: {} };
  const of = { category: 'inbound', expected: 'any', site: SITE.host, actor: 'system' } as const;
  for (let added = 0; added < count; added += 1) await log.append({ ...of, stream: 'inbound', events: [event] });
}

const shadow = (log: InMemoryLog, to: number) =>
  prepareJob(log, SITE, { kind: 'shadow', from: { position: 1 }, to: { position: to } });

describe('a job that replays a range with other rules', () => {
  it('takes a range with few events, however far a failover moved their positions apart', async () => {
    const log = new InMemoryLog();
    await append(log, 2);
    log.skipPositions(1_000_000_000);
    await append(log, 2);
    const head = await log.head();
    expect(await shadow(log, head + 1)).toMatchObject({ after: 0, until: head });
  });

  it('is refused if the range has too many events', async () => {
    const log = new InMemoryLog();
    jest.spyOn(log, 'head').mockResolvedValue(2_000_000);
    jest.spyOn(log, 'pageEnd').mockImplementation(async (after, limit) => Math.min(after + limit, 1_000_001));
    await expect(shadow(log, 1_500_000)).rejects.toThrow(UserError);
    expect(await shadow(log, 1_000_001)).toMatchObject({ until: 1_000_000 });
  });
});
