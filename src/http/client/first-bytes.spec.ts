import fc from 'fast-check';
import { FirstBytes } from './first-bytes.js';

describe('FirstBytes', () => {
  it('is the beginning of all pieces together, and says whether there was more', () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 });
    fc.assert(
      fc.property(pieces, fc.integer({ min: 1, max: 200 }), (arrays, max) => {
        const buffers = arrays.map((array) => Buffer.from(array));
        const whole = Buffer.concat(buffers);
        const first = new FirstBytes(max);
        for (const buffer of buffers) first.take(buffer);
        expect(first.bytes).toEqual(whole.subarray(0, max));
        expect(first.cut).toBe(whole.length > max);
        // A piece is somebody else's memory.
        expect(Buffer.concat(buffers)).toEqual(whole);
      }),
    );
  });
});
