import { PLATFORM_CASES } from '../../../test/support/platform-cases.js';
import { PAYLOAD_VERSION } from '../../platforms/payload-version.js';
import { buildPayload } from './payload.js';
import { sampleReceived } from './sample-conversion.js';

const NOW_MS = Date.parse('2026-03-01T10:16:00Z');

describe('sample conversion', () => {
  it.each(PLATFORM_CASES)('would be sent to $name', ({ platform, connection }) => {
    const payload = buildPayload(sampleReceived(NOW_MS), platform, connection.settings, {
      payloadVersion: PAYLOAD_VERSION,
    });
    expect(payload).toHaveProperty('body');
  });
});
