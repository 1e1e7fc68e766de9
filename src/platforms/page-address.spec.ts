import { pageAddress } from './page-address.js';

describe('pageAddress', () => {
  it.each([
    ['https://shop.example/thanks', 'https://shop.example/thanks'],
    ['https://shop.example/?gclid=Abc&fbclid=Def', 'https://shop.example/'],
    ['https://shop.example/thanks#email=jane@example.com', 'https://shop.example/thanks'],
    ['https://shop.example/a#b?c', 'https://shop.example/a'],
    ['', undefined],
    [undefined, undefined],
  ])('%s becomes %s', (url, address) => {
    expect(pageAddress(url)).toBe(address);
  });
});
