import { randomBytes } from 'node:crypto';
import { Sealer } from './sealing.js';

describe('Sealer', () => {
  const [key, newKey] = [randomBytes(32), randomBytes(32)];
  const secret = Buffer.from('something secret');

  it('opens what it sealed, and the sealed value does not contain the secret', () => {
    const sealed = new Sealer(key).seal(secret, 'shop.example dedup');
    expect(sealed.includes(secret)).toBe(false);
    expect(new Sealer(key).open(sealed, 'shop.example dedup')).toEqual(secret);
  });

  it('opens a value that was sealed with the previous key', () => {
    const sealed = new Sealer(key).seal(secret, 'label');
    expect(new Sealer(newKey, key).open(sealed, 'label')).toEqual(secret);
  });

  it('rejects a wrong key, another label and a flipped bit', () => {
    const sealed = new Sealer(key).seal(secret, 'label');
    expect(() => new Sealer(newKey).open(sealed, 'label')).toThrow(/SECRET_KEY_PREVIOUS/);
    expect(() => new Sealer(key).open(sealed, 'other')).toThrow();
    for (const at of [0, 14, sealed.length - 1]) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] as number) ^ 1;
      expect(() => new Sealer(key).open(changed, 'label')).toThrow();
    }
  });
});
