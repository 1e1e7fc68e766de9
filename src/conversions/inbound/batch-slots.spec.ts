import { BatchSlots } from './batch-slots.js';

describe('BatchSlots', () => {
  it('gives a site 4 of 16 slots, and a slot again after it was left', () => {
    const slots = new BatchSlots();
    const leave = Array.from({ length: 4 }, () => slots.enter('a.example'));
    expect(leave).not.toContain(undefined);
    expect(slots.enter('a.example')).toBeUndefined();
    for (let index = 0; index < 12; index += 1) expect(slots.enter(`b${index}.example`)).toBeDefined();
    expect(slots.enter('c.example')).toBeUndefined();
    leave[0]?.();
    leave[0]?.();
    expect(slots.enter('c.example')).toBeDefined();
    expect(slots.enter('d.example')).toBeUndefined();
    leave[1]?.();
    expect(slots.enter('a.example')).toBeDefined();
  });
});
