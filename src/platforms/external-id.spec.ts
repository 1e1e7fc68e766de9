import { hash } from 'node:crypto';
import { SAMPLE_CONVERSIONS } from '../../test/support/sample-conversions.js';
import { formedExternalId } from './external-id.js';
import { FIRST_PAYLOAD_VERSION } from './payload-version.js';

const DIGEST = hash('sha256', 'C-42');

describe('formedExternalId', () => {
  const formed = (externalId: string | undefined, form?: string, more: object = {}) => {
    const conversion = { ...SAMPLE_CONVERSIONS['hashed-only'], externalId, ...more };
    return formedExternalId(conversion, form === undefined ? {} : { external_id: form }, undefined);
  };

  it('hashes an id once, as the other platforms do', () => {
    expect(formed('C-42', 'hashed')).toBe(DIGEST);
    expect(formed(DIGEST.toUpperCase(), 'hashed')).toBe(DIGEST);
    expect(formed('C-42', 'plain')).toBe('C-42');
  });

  it('keeps the bytes of the first version', () => {
    const first = { payloadVersion: FIRST_PAYLOAD_VERSION };
    expect(formed(DIGEST, 'hashed', first)).toBe(hash('sha256', DIGEST));
    expect(formed('C-42', 'hashed', first)).toBe(DIGEST);
  });

  it('is left out without a form, without an id, and after an opt-out', () => {
    expect([formed('C-42'), formed(undefined, 'hashed')]).toEqual([undefined, undefined]);
    expect(formed('C-42', 'hashed', { consent: 'denied' })).toBeUndefined();
  });
});
