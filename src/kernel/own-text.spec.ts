import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ownText, ownTrimmed } from './own-text.js';

it('ownText and ownTrimmed return the same text', () => {
  for (const text of ['', 'a', 'päckchen \ud800', ' '.repeat(1_000)]) expect(ownTrimmed(`${text}\n`)).toBe(text.trim());
  expect(ownTrimmed(`${' '.repeat(1_000)}a "b" \ud83d\ude00 \ud800`)).toBe('a "b" \ud83d\ude00 \ud800');
  expect(ownText('ab', `ab${'c'.repeat(1_000)}`)).toBe('ab');
});

it('ownText does not keep the whole text in memory', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const kept: string[] = [];
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let each = 0; each < 200; each += 1) {
    const whole = Buffer.alloc(100_000, String(each % 10)).toString('latin1');
    kept.push(ownText(whole.slice(0, 512), whole));
  }
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000);
  expect(kept).toHaveLength(200);
});
