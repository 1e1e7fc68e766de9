import { curlLine } from './curl-line.js';
import { Placeholders } from './placeholders.js';

const REQUEST = { method: 'POST' as const, url: 'https://one.example/', headers: {} };

describe('curlLine', () => {
  it('encodes what a terminal would obey or hide in a URL', () => {
    const url = 'https://one.example/a\x7f\u202eb?c=\x1b';
    expect(curlLine({ ...REQUEST, url }, new Placeholders())).toBe("curl 'https://one.example/a%7F%E2%80%AEb?c=%1B'");
  });

  it('refuses control characters elsewhere', () => {
    for (const request of [{ headers: { 'x-id': 'A\x7f' } }, { basic: 'user\x9b' }, { body: '{"a":"\x7f"}' }])
      expect(() => curlLine({ ...REQUEST, ...request }, new Placeholders())).toThrow(/control character/);
  });
});
