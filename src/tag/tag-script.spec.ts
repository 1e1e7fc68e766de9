import { gzipSync } from 'node:zlib';
import { tagScript } from './tag-script.js';

const config = { required: false, capture: true, days: 90 };

describe('the served tag', () => {
  it('is at most 6 kB gzipped', () => {
    for (const required of [true, false]) {
      for (const capture of [true, false]) {
        const { body } = tagScript({ required, capture, days: 365 });
        expect(gzipSync(body, { level: 9 }).length).toBeLessThanOrEqual(6_000);
      }
    }
    // Guards against an empty build.
    expect(gzipSync(tagScript(config).body).length).toBeGreaterThan(2_000);
  });

  it('contains the settings of its site and has an ETag per settings', () => {
    const { body, etag } = tagScript(config);
    expect(body).toMatch(/,\{"required":false,"capture":true,"days":90\}\);?\s*$/);
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
    expect(tagScript({ ...config })).toBe(tagScript(config));
    const strict = tagScript({ ...config, required: true });
    expect(strict.body).toContain('"required":true');
    expect(strict.etag).not.toBe(etag);
  });

  it('uses ES2019 syntax and no eval', () => {
    const { body } = tagScript(config);
    expect(body).not.toMatch(/\?\.(?!\d)|\?\?|\|\|=|&&=|\beval\b|new Function/);
    expect(body).not.toMatch(/__CC_\w+__|\bimport\b|\bexport\b/);
  });

  it('has no unload listener, which would disable the back/forward cache', () => {
    expect(tagScript(config).body).not.toMatch(/unload/);
  });
});
