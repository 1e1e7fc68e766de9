import { requireStrongPassword } from './password-strength.js';

describe('a password', () => {
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
