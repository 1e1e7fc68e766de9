import { Output } from '../output/output.js';
import { noteRemoved, refuseGap } from './removed-events.js';

describe('events that retention has removed', () => {
  const noted = (after: number, until: number, removedUntil: number) => {
    const notes: string[] = [];
    noteRemoved({ note: (line: string) => notes.push(line) } as unknown as Output, { after, until }, { removedUntil });
    return notes;
  };

  it('are mentioned when the selected range includes some', () => {
    expect(noted(0, 200, 99)).toEqual([expect.stringContaining('up to position 99')]);
    expect(noted(99, 200, 99)).toEqual([]);
    expect(noted(0, 200, 0)).toEqual([]);
  });

  it('prevent resuming an export that ends before them', () => {
    expect(() => refuseGap('march.csv', 50, { removedUntil: 99 })).toThrow(/march\.csv\.part ends/);
    expect(() => refuseGap('march.csv', 99, { removedUntil: 99 })).not.toThrow();
  });
});
