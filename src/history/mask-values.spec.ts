import { hash } from 'node:crypto';
import { PLATFORM_CASES } from '../../test/support/platform-cases.js';
import { buildPayload } from '../delivery/payload/payload.js';
import { sampleReceived } from '../delivery/payload/sample-conversion.js';
import { PAYLOAD_VERSION } from '../platforms/payload-version.js';
import { MASK, maskValues } from './mask-values.js';

const received = sampleReceived(Date.parse('2026-03-01T10:16:00Z'));

/** Every personal value, as it is and hashed. The country is no identifier, and `de` may be a part of other words. */
function personalTexts(value: unknown): string[] {
  if (typeof value === 'string') return value.length > 2 ? [value, hash('sha256', value.toLowerCase())] : [];
  if (value === null || typeof value !== 'object') return [];
  return Object.values(value).flatMap(personalTexts);
}

describe('masked values', () => {
  it.each(PLATFORM_CASES)('of a payload of $name contain nothing personal', ({ platform, connection }) => {
    const payload = buildPayload(received, platform, connection.settings, { payloadVersion: PAYLOAD_VERSION });
    const { body } = payload as { body: string };
    const masked = JSON.stringify(maskValues(JSON.parse(body), received.data));
    const personal = personalTexts(received.personal);
    expect(personal.some((text) => body.includes(text))).toBe(true);
    expect(personal.filter((text) => masked.includes(text))).toEqual([]);
  });

  it('keep what is public, numbers and times', () => {
    const document = { id: 'ORD-1', value: 5, at: ['2026-03-01T10:16:00.000Z'], email: 'f1a2', missing: null };
    expect(maskValues(document, { orderId: 'ORD-1' })).toEqual({ ...document, email: MASK });
  });
});
