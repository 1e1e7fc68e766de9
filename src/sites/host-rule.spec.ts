import fc from 'fast-check';
import { overlap, ownDomain } from './host-rule.js';
import { parseHost } from './site-repository.js';

describe('the domain of a host', () => {
  it.each([
    ['shop.example', 'shop.example'],
    ['www.shop.example', 'shop.example'],
    ['a.b.shop.example', 'shop.example'],
    ['WWW.Shop.Example.', 'shop.example'],
    ['_x.shop.example', 'shop.example'],
    ['shop.co.uk', 'shop.co.uk'],
    ['www.shop.co.uk', 'shop.co.uk'],
    ['co.uk', undefined],
    ['com', undefined],
    ['shop1.myshopify.com', 'shop1.myshopify.com'],
    ['a.shop2.myshopify.com', 'shop2.myshopify.com'],
    ['myshopify.com', undefined],
    ['one.github.io', 'one.github.io'],
    ['github.io', undefined],
    ['www.bücher.de', 'xn--bcher-kva.de'],
    ['食狮.公司.cn', 'xn--85x722f.xn--55qx5d.cn'],
    ['公司.cn', undefined],
    ['localhost', undefined],
    ['127.0.0.1', undefined],
    ['[::1]', undefined],
  ])('of %s is %s', (host, domain) => {
    expect(ownDomain(parseHost(host))).toBe(domain);
  });

  it('is that of all hosts below it', () => {
    const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/);
    const suffix = fc.constantFrom('example', 'com', 'co.uk', 'myshopify.com', 'github.io', 'xn--55qx5d.cn');
    const drawn = fc.tuple(fc.array(label, { maxLength: 3 }), label, suffix);
    fc.assert(
      fc.property(drawn, ([below, name, ending]) => {
        // Not a short name: "us" below "com" is a public suffix.
        const domain = `own-${name}.${ending}`;
        expect(ownDomain([...below, domain].join('.'))).toBe(domain);
      }),
    );
  });
});

describe('hosts overlap', () => {
  it.each([
    ['shop.example', 'shop.example', true],
    ['www.shop.example', 'shop.example', true],
    ['a.www.shop.example', 'shop.example', true],
    ['myshop.example', 'shop.example', false],
    ['www.shop.example', 'track.shop.example', false],
    ['shop.example', 'shop.example.com', false],
    ['xn--bcher-kva.de', 'www.xn--bcher-kva.de', true],
    ['127.0.0.1', '127.0.0.1', true],
    ['127.0.0.1', '0.0.1', true],
  ])('%s and %s: %s', (one, other, expected) => {
    expect([overlap(one, other), overlap(other, one)]).toEqual([expected, expected]);
  });
});
