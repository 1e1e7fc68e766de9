import type { Stats } from 'node:fs';
import { isContainerTerminal } from './main-terminal.js';

const file = (dev: number, ino: number) => () => ({ dev, ino }) as Stats;

describe('isContainerTerminal', () => {
  it('is true for the terminal of process 1, whose output is collected as a log', () => {
    expect(isContainerTerminal({ own: file(1, 3), first: file(1, 3) })).toBe(true);
  });

  it('is false for a terminal that was opened later, and on a machine', () => {
    expect(isContainerTerminal({ own: file(1, 4), first: file(1, 3) })).toBe(false);
    expect(isContainerTerminal({ own: file(2, 3), first: file(1, 3) })).toBe(false);
    const denied = () => {
      throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
    };
    expect(isContainerTerminal({ own: file(1, 3), first: denied })).toBe(false);
  });
});
