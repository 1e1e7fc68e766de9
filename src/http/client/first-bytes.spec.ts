import fc from 'fast-check';
import { FirstBytes } from './first-bytes.js';

describe('FirstBytes', () => {
  it('returns the first bytes of all chunks and reports whether there were more', () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 });
    fc.assert(
      fc.property(pieces, fc.integer({ min: 1, max: 200 }), (arrays, max) => {
        const buffers = arrays.map((array) => Buffer.from(array));
        const whole = Buffer.concat(buffers);
        const first = new FirstBytes(max);
        for (const buffer of buffers) first.append(buffer);
        expect(first.bytes).toEqual(whole.subarray(0, max));
        expect(first.cut).toBe(whole.length > max);
        // The chunks belong to the caller and must not change.
        expect(Buffer.concat(buffers)).toEqual(whole);
      }),
    );
  });
});
