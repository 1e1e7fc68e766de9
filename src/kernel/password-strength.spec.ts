import { requireStrongPassword } from './password-strength.js';

describe('a password', () => {
  it.each([
    'password1234',
    'Passw0rd!Passw0rd!',
    'qwertyuiop123',
    'iloveyou123456',
    'Summer2024!!',
    'abcdefghijkl',
    'clean conversions',
    'shopexample1',
  ])('is refused because it is common: %p', (password) => {
    expect(() => requireStrongPassword(password, 'ada@shop.example')).toThrow(
      'Choose a password that is harder to guess',
    );
  });

  it('is judged in less than a second of CPU time, whatever its length', () => {
    const before = process.cpuUsage();
    expect(() => requireStrongPassword('ab1!'.repeat(64), 'ada@shop.example')).toThrow('Choose a password');
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_000);
  });

  it.each(['short', 'aaaaaaaaaaaaaaaa', 'my name is Ada.Lovelace', 'x'.repeat(300)])('is refused: %p', (password) => {
    expect(() => requireStrongPassword(password, 'ada.lovelace@shop.example')).toThrow('Choose a password');
  });

  it('may contain a short name', () => {
    expect(() => requireStrongPassword('correct horse battery', 'a@shop.example')).not.toThrow();
  });

  it('is accepted if it is long', () => {
    expect(() => requireStrongPassword('correct horse battery', 'ada@shop.example')).not.toThrow();
  });
});
