import { readFileSync } from 'node:fs';
import { PLATFORMS } from './index.js';
import { platform as meta } from './meta/index.js';
import type { PlatformName, Settings } from './platform.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Rows of the table in docs/platforms.md: names with an optional `mode`, oldest conversion, dedup window. */
const ROW = /^\| ((?:\w+(?:, )?)+)(?:, `mode=(\w+)`)? \| (\d+ \w+)? ?\| (\d+ \w+)? ?\|$/;

function toMs(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [count, unit] = text.split(' ');
  return Number(count) * (unit === 'days' ? DAY_MS : HOUR_MS);
}

describe('limits', () => {
  const text = readFileSync(new URL('../../docs/platforms.md', import.meta.url), 'utf8');
  const table = text.slice(text.indexOf('| platform | oldest conversion')).split('\n\n')[0]?.split('\n').slice(2) ?? [];
  const rows = table.flatMap((line) => {
    const [, names = '', mode, age, window] = ROW.exec(line) ?? [];
    return names
      .split(', ')
      .map((name) => ({ name: name as PlatformName, mode, age: toMs(age), window: toMs(window) }));
  });

  it('are documented for every platform', () => {
    expect(new Set(rows.map(({ name }) => name))).toEqual(new Set(PLATFORMS.map(({ name }) => name)));
  });

  it.each(rows)('of $name $mode are as documented', ({ name, mode, age, window }) => {
    const platform = PLATFORMS.find((candidate) => candidate.name === name);
    const settings: Settings = mode === undefined ? {} : { mode };
    const { ageMaxMs, dedupWindowMs } = platform?.limits?.(settings, {}) ?? {};
    expect([ageMaxMs, dedupWindowMs]).toEqual([age, window]);
  });

  it('of meta are longer for store sales', () => {
    expect(meta.limits?.({}, { source: 'physical_store' })).toEqual({
      ...{ ageMaxMs: 62 * DAY_MS, dedupWindowMs: 48 * HOUR_MS },
    });
    expect(meta.limits?.({}, { source: 'crm' })).toMatchObject({ ageMaxMs: 7 * DAY_MS });
    expect(text).toContain('source `physical_store` for 62 days');
  });

  it('of tiktok are longer for an offline event set', () => {
    const tiktok = PLATFORMS.find(({ name }) => name === 'tiktok');
    expect(tiktok?.limits?.({ offline_event_set_id: '7' }, { source: 'physical_store' })?.ageMaxMs).toBe(28 * DAY_MS);
    expect(text).toContain('offline event set for 28 days');
  });

  it('name settings of the platform as its account', () => {
    for (const { account, fields } of PLATFORMS) {
      const settings = fields.filter(({ secret }) => !secret).map(({ name }) => name);
      expect(settings).toEqual(expect.arrayContaining([...account]));
    }
  });
});
