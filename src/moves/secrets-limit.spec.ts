import { requireSendable, SECRETS_MAX } from './secrets-limit.js';

const secret = (name: string, bytes: number) => ({ name, value: Buffer.alloc(bytes, 1) });
const many = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, index) => secret(`meta@${index}.access_token`, bytes));

describe('secrets of a site that moves', () => {
  it('can be sent, as long as one request holds them', () => {
    expect(() => requireSendable('shop.example', [])).not.toThrow();
    expect(() => requireSendable('shop.example', [...many(9, 75_000), secret('outbound.secret', 32)])).not.toThrow();
  });

  it.each([
    ['one that is too long', [secret('meta.access_token', 75_001)], 'meta.access_token is longer than 75000 bytes'],
    ['too many', many(SECRETS_MAX + 1, 1), 'there are 2001'],
    ['too much together', many(10, 75_000), 'at most 1000000 can be sent'],
  ])('are refused with what to do: %s', (_what, secrets, message) => {
    expect(() => requireSendable('shop.example', secrets)).toThrow(message);
    expect(() => requireSendable('shop.example', secrets)).toThrow('platforms disconnect');
  });
});
