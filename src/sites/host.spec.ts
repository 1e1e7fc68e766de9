import * as fc from 'fast-check';
import { normaliseHost } from './host.js';

describe('normaliseHost', () => {
  it.each([
    ['shop.example', 'shop.example'],
    ['Shop.EXAMPLE', 'shop.example'],
    ['shop.example:8443', 'shop.example'],
    ['shop.example:', 'shop.example'],
    ['shop.example.', 'shop.example'],
    ['shop.example.:443', 'shop.example'],
    ['localhost', 'localhost'],
    ['localhost:8080', 'localhost'],
    ['my_site-1.example', 'my_site-1.example'],
    ['3m.example', '3m.example'],
    ['127.0.0.1', '127.0.0.1'],
    ['127.0.0.1:8080', '127.0.0.1'],
    ['[::1]', '[::1]'],
    ['[::1]:8080', '[::1]'],
    ['[2001:DB8:0:0::1]', '[2001:db8::1]'],
    ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]'],
    ['2001:DB8::1', '[2001:db8::1]'],
    ['münchen.example', 'xn--mnchen-3ya.example'],
    ['MÜNCHEN.example:443', 'xn--mnchen-3ya.example'],
    ['日本。jp', 'xn--wgv71a.jp'],
    ['xn--mnchen-3ya.example', 'xn--mnchen-3ya.example'],
    [`${'x'.repeat(63)}.example`, `${'x'.repeat(63)}.example`],
    [`${'x.'.repeat(126)}x`, `${'x.'.repeat(126)}x`],
  ])('normalises %s to %s', (text, host) => {
    expect(normaliseHost(text)).toBe(host);
  });

  it.each([
    undefined,
    '',
    '.',
    ':80',
    ' ',
    ' shop.example',
    'shop.example\n',
    'shop..example',
    '.shop.example',
    'shop.example..',
    'shop.example:http',
    'shop.example:80:80',
    'shop.example:65536',
    'https://shop.example',
    'shop.example/path',
    'münchen.example/path',
    'user@shop.example',
    'shop%2eexample',
    'mü%2eexample',
    'shop*.example',
    'a／b.example',
    '256.0.0.1',
    '127.1',
    '1.2.3.4.5',
    '2130706433',
    '0x7f.0.0.0x1',
    '[]',
    '[::1',
    '::1]',
    '[::1]x',
    '[127.0.0.1]',
    '[fe80::1%eth0]',
    'fe80::1%eth0',
    '[shop.example]',
    `${'x'.repeat(64)}.example`,
    `${'x.'.repeat(126)}xy`,
    `${'ü'.repeat(70)}.example`,
    'x'.repeat(100_000),
    'ü'.repeat(100_000),
  ])('rejects %j', (text) => {
    expect(normaliseHost(text)).toBeUndefined();
  });

  it('is idempotent', () => {
    const label = fc.string({ unit: fc.constantFrom(...'aZ09-_.üß日:[]%/@ ') });
    return fc.assert(
      fc.property(fc.oneof(label, fc.domain(), fc.ipV4(), fc.ipV6(), fc.string({ unit: 'binary' })), (text) => {
        const host = normaliseHost(text);
        if (host !== undefined) {
          expect(host).toMatch(/^(?:\[[0-9a-f:]+\]|[a-z0-9_.-]{1,253})$/);
          expect(normaliseHost(host)).toBe(host);
          expect(normaliseHost(`${host}:443`)).toBe(host);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('accepts every domain and IPv4 address', () =>
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.ipV4()), (host) => {
        expect(normaliseHost(host)).toBe(host.toLowerCase());
      }),
    ));

  it('normalises an IPv6 address with and without brackets to the same text', () =>
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        expect(normaliseHost(`[${address}]`)).toMatch(/^\[.+\]$/);
        expect(normaliseHost(address)).toBe(normaliseHost(`[${address}]`));
      }),
    ));
});
