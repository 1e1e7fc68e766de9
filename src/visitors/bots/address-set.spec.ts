import fc from 'fast-check';
import { addressRanges, isWithin } from '../../kernel/addresses.js';
import { AddressSet, addressKey } from './address-set.js';

const has = (ranges: string, address: string) => {
  const parsed = addressKey(address);
  return parsed !== undefined && new AddressSet(addressRanges(ranges)).has(parsed);
};

describe('AddressSet', () => {
  it.each([
    ['192.0.2.0/24', '192.0.2.0', true],
    ['192.0.2.0/24', '192.0.2.255', true],
    ['192.0.2.0/24', '192.0.3.0', false],
    ['192.0.2.77/24', '192.0.2.1', true],
    ['0.0.0.0/0', '255.255.255.255', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['10.0.0.0/8,10.1.0.0/16', '10.200.0.1', true],
    ['192.0.2.1', '192.0.2.1', true],
    ['192.0.2.1', '::ffff:192.0.2.1', true],
    ['::ffff:192.0.2.0/120', '192.0.2.9', true],
    ['2001:db8::/33', '2001:db8:7fff::1', true],
    ['2001:db8::/33', '2001:db8:8000::1', false],
    ['2001:db8::/32', '2001:db8::1%eth0', true],
    ['', '192.0.2.1', false],
  ])('%s contains %s: %s', (ranges, address, expected) => {
    expect(has(ranges, address)).toBe(expected);
  });

  it('agrees with a linear search of all ranges', () => {
    // Few distinct bytes, so that ranges overlap, touch and nest.
    const byte = fc.constantFrom(0, 1, 2, 127, 128, 254, 255);
    const address = fc.oneof(
      fc.tuple(byte, byte, byte, byte).map((bytes) => bytes.join('.')),
      fc.array(byte, { minLength: 8, maxLength: 8 }).map(
        (groups) =>
          `2001:${groups
            .slice(1)
            .map((group) => group.toString(16))
            .join(':')}`,
      ),
    );
    const range = fc
      .tuple(address, fc.nat(128))
      .map(([base, bits]) => `${base}/${base.includes(':') ? bits : bits % 33}`);
    fc.assert(
      fc.property(fc.array(range, { maxLength: 30 }), fc.array(address, { minLength: 20 }), (ranges, addresses) => {
        const parsed = addressRanges(ranges.join(','));
        for (const one of addresses) expect(has(ranges.join(','), one)).toBe(isWithin(one, parsed));
      }),
    );
  });

  it('has no key for text that is not an address', () => {
    for (const text of ['', 'localhost', '1.2.3.4.5', '::g', undefined, 7, null, {}])
      expect(addressKey(text)).toBeUndefined();
  });
});
