import { isLoopback } from './addresses.js';

describe('isLoopback', () => {
  it.each(['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1'])('accepts %s', (address) => {
    expect(isLoopback(address)).toBe(true);
  });

  it.each([undefined, '', '127.evil', '127.', '127.0.0.1.evil.example', '::ffff:127.evil', '203.0.113.5', '::2'])(
    'rejects %s',
    (address) => {
      expect(isLoopback(address)).toBe(false);
    },
  );
});
