import { addPage } from './page-window.js';

describe('the rows that a list keeps', () => {
  it('are bounded, the newest go first', () => {
    const none = { items: [], dropped: 0 };
    const two = addPage(addPage(none, [9, 8], 4), [7, 6], 4);
    expect(two).toEqual({ items: [9, 8, 7, 6], dropped: 0 });
    const three = addPage(two, [5, 4], 4);
    expect(three).toEqual({ items: [7, 6, 5, 4], dropped: 2 });
    expect(addPage(three, [], 4)).toEqual(three);
    expect(addPage(three, [3], 4)).toEqual({ items: [6, 5, 4, 3], dropped: 3 });
  });
});
