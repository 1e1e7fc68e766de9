import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Conversion, CorrectedOrder } from '../../src/platforms/conversion.js';
import type { Connection, Platform } from '../../src/platforms/platform.js';
import { type Memory, type PlatformDouble, sandboxRequest } from '../../src/sandbox/double.js';

type Sample = readonly [correction: Conversion, order: CorrectedOrder, connection: Connection];

/** Compares the request for each correction with `fixtures/<sample>.json`. `UPDATE_FIXTURES=1` overwrites the fixtures. */
export function describeCorrectionFixtures(platform: Platform, samples: Readonly<Record<string, Sample>>): void {
  describe('the request of a correction matches the fixture', () => {
    it.each(Object.entries(samples))('%s', (name, sample) => {
      const { body = '', ...request } = correctionRequest(platform, sample);
      const sent = { ...request, body: JSON.parse(body) };
      const file = join(process.cwd(), 'src/platforms', platform.name, 'fixtures', `${name}.json`);
      if (process.env['UPDATE_FIXTURES']) writeFileSync(file, `${JSON.stringify(sent, null, 2)}\n`);
      expect(sent).toEqual(JSON.parse(readFileSync(file, 'utf8')));
    });
  });
}

/** The answer of the sandbox's double to the request of a correction. */
export function answerOf(
  double: PlatformDouble,
  platform: Platform,
  sample: Sample,
  nowMs: number,
  memory: Memory = new Map(),
) {
  const { method, url, headers, body = '' } = correctionRequest(platform, sample);
  const { pathname, search } = new URL(url);
  return double.answer(sandboxRequest(method, pathname + search, { headers, body, nowMs, memory }));
}

function correctionRequest(platform: Platform, [conversion, order, connection]: Sample) {
  const payload = platform.correction?.(conversion, order, connection.settings);
  if (payload === undefined || 'skip' in payload) throw new Error(`skipped: ${payload?.skip}`);
  const call = { connection, group: payload.group, accessToken: 'token', nowMs: 0 };
  return platform.request([JSON.stringify(payload.item)], call);
}
