import { jest } from '@jest/globals';
import { LogUnavailable } from '../../src/kernel/errors.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import { batchDigest, CHAIN_START, chainHead, eventDigest, personalDigest } from '../../src/log/audit/seals.js';
import { eraseSubject } from '../../src/log/erasure.js';
import { useLog } from '../support/databases.js';
import { thing } from '../support/event-log.contract.js';

const SUBJECT = 'ab'.repeat(32);

const { postgres, log } = await useLog();

describe('the seals of the log', () => {
  it('are what TypeScript computes from the stored events', async () => {
    await append('plain', {});
    await append('with "quotes", a line\nbreak and Zoë 日本', { subject: SUBJECT, phone: 'cd' });
    await append(undefined, { phone: 'no subject' });
    await Promise.all(Array.from({ length: 50 }, (_, turn) => append(`ORD-${turn}`, { subject: SUBJECT })));
    const heads = await recomputeHeads();
    expect(heads.length).toBeGreaterThan(3);
    expect(await storedHeads()).toEqual(heads);
  });

  it('stay valid when a person is erased and only the salted digest is left', async () => {
    const before = await recomputeHeads();
    expect(await erase()).toMatchObject({ events: 51 });
    expect(await erasedParts()).toBe(51);
    const heads = await recomputeHeads();
    expect(heads.slice(0, before.length)).toEqual(before);
    // The event that states the erasure.
    expect(await log.read({ types: ['thing.erased.v1'] })).toMatchObject([{ data: { events: 51 } }]);
    expect(heads).toHaveLength(before.length + 1);
  });

  it('stay as they are when the event of an erasure cannot be appended: then nothing is erased', async () => {
    await append('ORD-last', { subject: SUBJECT });
    const [before, parts] = [await storedHeads(), await erasedParts()];
    const refusal = jest.spyOn(postgres.clock, 'refusal').mockReturnValue('the clock jumped');
    await expect(erase()).rejects.toThrow(new LogUnavailable('the clock jumped'));
    refusal.mockRestore();
    // The clock jumped since it was sampled, which only the database notices.
    const nowMs = jest.spyOn(postgres.clock, 'nowMs').mockReturnValue(Date.now() + 3_600_000);
    await expect(erase()).rejects.toThrow(LogUnavailable);
    nowMs.mockRestore();
    expect(await storedHeads()).toEqual(before);
    expect(await erasedParts()).toBe(parts);
    expect(await log.find('shop.example', 'ORD-last')).toMatchObject([{ personal: { subject: SUBJECT } }]);
    expect(await erase()).toMatchObject({ events: 1 });
  });

  it('cannot be changed by the service', async () => {
    for (const change of [
      'UPDATE cc.seals SET count = 1',
      'DELETE FROM cc.seals',
      'DELETE FROM cc.erased_parts',
      'INSERT INTO cc.removed_events VALUES (1, sha256($$$$))',
      'DELETE FROM cc.clock_steps',
    ])
      await expect(postgres.pool.query(change)).rejects.toThrow(/permission denied/);
  });

  function append(reference: string | undefined, personal: { subject?: string; phone?: string }) {
    const data = { text: 'Zoë "quoted" \\ 日本', amount: 12.5, nested: { list: [1, 2] } };
    return log.append(thing(uuidv7(), { events: [{ type: 'thing.happened.v1', data, reference, personal }] }));
  }

  function erase() {
    return eraseSubject(postgres, {
      site: 'shop.example',
      subjects: [SUBJECT],
      linkedSubjects: () => [],
      projections: [],
      record: ({ events }) => {
        const event = { type: 'thing.erased.v1', data: { events } };
        return { ...thing(), expected: 'new', events: [event] };
      },
    });
  }

  async function erasedParts(): Promise<number> {
    return (await postgres.pool.query('SELECT FROM cc.erased_parts')).rowCount as number;
  }

  async function storedHeads(): Promise<string[]> {
    const { rows } = await postgres.pool.query(`SELECT encode(head, 'hex') AS head FROM cc.seals ORDER BY last`);
    return rows.map(({ head }) => head);
  }

  async function recomputeHeads(): Promise<string[]> {
    const { rows: seals } = await postgres.pool.query('SELECT first, last FROM cc.seals ORDER BY last');
    const heads: string[] = [];
    for (const { first, last } of seals) {
      const { rows } = await postgres.pool.query(
        `SELECT e.*, e.data::text AS text, extract(epoch FROM e.time)::float8 * 1000 AS ms, p.salt, p.subject,
                p.data::text AS beside, encode(x.digest, 'hex') AS erased
           FROM cc.events e LEFT JOIN cc.personal p USING (position) LEFT JOIN cc.erased_parts x USING (position)
          WHERE e.position BETWEEN $1 AND $2 ORDER BY e.position`,
        [first, last],
      );
      const digests = rows.map((row) =>
        eventDigest({
          ...row,
          position: Number(row.position),
          timeMs: row.ms,
          data: row.text,
          personal: row.salt ? personalDigest(row.salt, row.subject, row.beside) : row.erased,
        }),
      );
      heads.push(chainHead(heads.at(-1) ?? CHAIN_START, batchDigest(digests)));
    }
    return heads;
  }
});
