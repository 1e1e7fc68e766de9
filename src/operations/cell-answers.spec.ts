import { CellAnswers } from './cell-answers.js';

describe('CellAnswers', () => {
  it('names the cells that have not answered', () => {
    const answers = new CellAnswers(['b', 'c']);
    answers.ask().answered('b');
    expect([...answers.missing]).toEqual(['c']);
  });

  it('does not count an answer to a question from before a change of lineage', () => {
    const answers = new CellAnswers(['b']);
    const earlier = answers.ask();
    answers.restart();
    earlier.answered('b');
    expect(earlier.isCurrent()).toBe(false);
    expect([...answers.missing]).toEqual(['b']);
    const later = answers.ask();
    later.answered('b');
    expect(later.isCurrent()).toBe(true);
    expect([...answers.missing]).toEqual([]);
  });
});
