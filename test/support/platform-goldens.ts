import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Connection, Platform, PlatformRequest } from '../../src/platforms/platform.js';
import { SAMPLE_CONVERSIONS } from './sample-conversions.js';

const NOW_MS = Date.parse('2026-03-01T10:15:31Z');

/**
 * What a platform is sent for every sample conversion, compared with `fixtures/<case>.json` in the platform's folder. A
 * fixture was read against the platform's contract when it was made; `UPDATE_FIXTURES=1` writes what the code says now.
 */
export function describeGoldens(platform: Platform, connection: Connection, accessToken?: string): void {
  const folder = join(process.cwd(), 'src/platforms', platform.name, 'fixtures');
  describe('what is sent', () => {
    it.each(Object.entries(SAMPLE_CONVERSIONS))('%s', (name, conversion) => {
      const payload = platform.payload(conversion, connection.settings);
      const sent =
        'skip' in payload
          ? payload
          : readable(
              platform.request([JSON.stringify(payload.item)], {
                connection,
                group: payload.group,
                accessToken,
                nowMs: NOW_MS,
              }),
            );
      const file = join(folder, `${name}.json`);
      if (process.env['UPDATE_FIXTURES']) {
        mkdirSync(folder, { recursive: true });
        writeFileSync(file, `${JSON.stringify(sent, null, 2)}\n`);
      }
      expect(sent).toEqual(JSON.parse(readFileSync(file, 'utf8')));
    });
  });
}

function readable(request: PlatformRequest): object {
  const json = /json/.test(request.headers['content-type'] ?? '');
  return { ...request, ...(json && request.body !== undefined && { body: JSON.parse(request.body) }) };
}
