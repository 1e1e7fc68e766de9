import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { simulate } from '../docs/simulation/cell-loss.mjs';

/** Three cells at the same load per cell as the default, for a shorter time. */
const SMALL = { rate: 30_000, cells: 3, seconds: 60, lossAt: 10, lossSeconds: 10, weight: 50 };

describe('the simulated loss of a cell', () => {
  it('has the same result for the same seed, and another one for another seed', () => {
    const result = simulate(SMALL);
    expect(simulate(SMALL)).toEqual(result);
    expect(simulate({ ...SMALL, seed: 2 }).all).not.toEqual(result.all);
  });

  it.each([
    ['that double their delay', { backOff: 'doubling' as const }],
    ['with a fixed delay', { backOff: 'fixed' as const }],
    ['that give up early', { attemptsMax: 2 }],
    ['that never repeat', { attemptsMax: 1 }],
  ])('accepts each conversion once or counts it as given up, with senders %s', (_, senders) => {
    const { all, lost } = simulate({ ...SMALL, ...senders });
    expect(all.accepted + all.givenUp).toBe(all.requests);
    expect(all.attempts).toBe(all.accepted + all.unavailable);
    expect(lost.seconds.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(lost.accepted);
  });

  it('has neither queue nor refusals without the loss', () => {
    const { all } = simulate({ ...SMALL, lossSeconds: 0 });
    expect(all).toMatchObject({ unavailable: 0, givenUp: 0, accepted: all.requests, attempts: all.requests });
    // What arrives during one or two batches waits for the next one.
    expect(all.queueMax).toBeLessThan(2_000);
    expect(all.slowest).toBeLessThan(1);
  });

  it('affects no other cell', () => {
    const others = simulate(SMALL).others;
    expect(others).toMatchObject({ unavailable: 0, givenUp: 0 });
    expect(others).toEqual(simulate({ ...SMALL, lossSeconds: 0 }).others);
  });

  it('queues no more than the instances hold, and gives up nothing if senders repeat long enough', () => {
    const { lost } = simulate(SMALL);
    expect(lost.queueMax).toBeGreaterThan(10_000);
    expect(lost.queueMax).toBeLessThanOrEqual(40_000);
    expect(lost.unavailable).toBeGreaterThan(0);
    expect(lost.givenUp).toBe(0);
  });

  it('takes longer to recover from when the cell has less capacity to spare', () => {
    const alone = { ...SMALL, cells: 1, seconds: 150, weight: 200 };
    const recovery = (rate: number) => simulate({ ...alone, rate }).lost.recoveredAfter;
    expect(recovery(16_000)).toBeGreaterThan(recovery(10_000));
  });

  it('has the results in docs/scale.md', () => {
    const rows = documentedRows();
    expect(rows).toHaveLength(7);
    for (const { cells, lossSeconds, results } of rows) {
      const seconds = lossSeconds === 300 ? 1_200 : 300;
      const lost = alone(cells, { lossSeconds, seconds });
      expect({ cells, lossSeconds, results }).toEqual({
        cells,
        lossSeconds,
        results: [
          millions(lost.unavailable),
          lost.pendingMax < 1_000_000
            ? grouped(Math.round(lost.pendingMax / 1_000) * 1_000)
            : millions(lost.pendingMax),
          `${lost.recoveredAfter} s`,
          `${Math.round(lost.slowest)} s`,
          grouped(lost.givenUp),
        ],
      });
    }
    const slower = [100, 133].flatMap((cells) =>
      [10, 30].map((lossSeconds) => alone(cells, { lossSeconds, rowMicros: 66.4 }).recoveredAfter),
    );
    expect(slower).toEqual([27, 106, 13, 48]);
    // Three seconds of CPU, which a busy machine gives over a longer time.
  });
});

/** The cell that is lost, without the others, on which it does not depend. */
function alone(cells: number, options: Parameters<typeof simulate>[0]) {
  return simulate({ ...options, cells: 1, rate: 1_000_000 / cells }).lost;
}

/** Rows such as `| 100 × 10,000 | 30 s | 1.2 million | 307,000 | 50 s | 77 s | 0 |`; what follows a colon explains the figure. */
function documentedRows() {
  const text = readFileSync(join(import.meta.dirname, '../docs/scale.md'), 'utf8');
  return [...text.matchAll(/^\| (\d+) × [^|]+\| (\d+) s \|(.*)\|$/gm)].map(([, cells, lossSeconds, rest]) => ({
    cells: Number(cells),
    lossSeconds: Number(lossSeconds),
    results: rest?.split('|').map((cell) => cell.split(':')[0]?.trim()),
  }));
}

function millions(count: number): string {
  return `${(count / 1_000_000).toFixed(count < 10_000_000 ? 1 : 0)} million`;
}

function grouped(count: number): string {
  return count.toLocaleString('en-US');
}
