import { SubjectFilter } from './subject-filter.js';

const { imul } = Math;

/** Different and deterministic subjects: MurmurHash3's last step is a permutation of 32-bit numbers. */
function subjectAt(index: number): string {
  let low = index ^ (index >>> 16);
  low = imul(low, 0x85ebca6b);
  low = imul(low ^ (low >>> 13), 0xc2b2ae35);
  const high = imul(low, 0x9e3779b1) ^ index;
  return (high >>> 0).toString(16).padStart(8, '0') + (low >>> 0).toString(16).padStart(8, '0') + '0'.repeat(48);
}

describe('the filter of subjects', () => {
  it('has each of a million subjects, and takes few others for them', () => {
    const [known, others] = [1_000_000, 200_000];
    const filter = new SubjectFilter(known);
    for (let index = 0; index < known; index += 1) filter.add(`shop-${index % 7}.example`, subjectAt(index));
    let [missing, mistaken] = [0, 0];
    for (let index = 0; index < known; index += 1)
      if (!filter.has(`shop-${index % 7}.example`, subjectAt(index))) missing += 1;
    for (let index = known; index < known + others; index += 1)
      if (filter.has(`shop-${index % 7}.example`, subjectAt(index))) mistaken += 1;
    expect(missing).toBe(0);
    expect(mistaken / others).toBeLessThan(0.005);
    expect(filter.size).toBeGreaterThan(0.99 * known);
    expect(filter.isFull).toBe(false);
  });

  it('has what was added by the first bytes of the subjects', () => {
    const filter = new SubjectFilter(10);
    const subjects = Array.from({ length: 50 }, (_, index) => subjectAt(index));
    const keys = subjects.map((subject) => Buffer.from(subject.slice(0, 16), 'hex'));
    filter.addAll('shop.example', Buffer.concat(keys));
    expect(subjects.every((subject) => filter.has('shop.example', subject))).toBe(true);
    expect(subjects.every((subject) => filter.has('shop.example', subject.toUpperCase()))).toBe(true);
    expect(subjects.some((subject) => filter.has('other.example', subject))).toBe(false);
    expect(filter.size).toBe(50);
  });

  it('is bounded, and full when it holds more than it was sized for', () => {
    expect(new SubjectFilter(10_000_000).bytes).toBe(16 * 1024 * 1024);
    expect(new SubjectFilter(1e9).bytes).toBe(16 * 1024 * 1024);
    const small = new SubjectFilter(0);
    expect(small.bytes).toBe(128 * 1024);
    for (let index = 0; index < 100_000; index += 1) small.add('shop.example', subjectAt(index));
    expect(small.isFull).toBe(true);
  });
});
