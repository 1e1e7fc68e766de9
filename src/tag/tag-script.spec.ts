import { gzipSync } from 'node:zlib';
import { tagScript } from './tag-script.js';

const config = { required: false, capture: true, days: 90 };

describe('the tag as it is served', () => {
  it('is at most 5 kB, gzipped', () => {
    for (const required of [true, false]) {
      for (const capture of [true, false]) {
        const { body } = tagScript({ required, capture, days: 365 });
        expect(gzipSync(body, { level: 9 }).length).toBeLessThanOrEqual(5_000);
      }
    }
    // Not an empty file either.
    expect(gzipSync(tagScript(config).body).length).toBeGreaterThan(2_000);
  });

  it('carries the settings of its site, and a tag of its own for each', () => {
    const { body, etag } = tagScript(config);
    expect(body).toMatch(/\(\{"required":false,"capture":true,"days":90\}\);?\s*$/);
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
    expect(tagScript({ ...config })).toBe(tagScript(config));
    const strict = tagScript({ ...config, required: true });
    expect(strict.body).toContain('"required":true');
    expect(strict.etag).not.toBe(etag);
  });

  it('is written in what browsers of 2019 understand, and asks for nothing to be evaluated', () => {
    const { body } = tagScript(config);
    expect(body).not.toMatch(/\?\.(?!\d)|\?\?|\|\|=|&&=|\beval\b|new Function/);
    expect(body).not.toMatch(/__CC_CONFIG__|\bimport\b|\bexport\b/);
  });

  it('has no listener that keeps a page out of the cache for the way back', () => {
    expect(tagScript(config).body).not.toMatch(/unload/);
  });
});
