import { optionError } from './option-error.js';

describe('an error of a command, in an answer of the API', () => {
  it('names the field of the request in place of an option of the command line', () => {
    expect(optionError('--set pixel_id: must be digits only')).toEqual({
      detail: 'pixel_id: must be digits only',
      errors: [{ field: 'settings.pixel_id', message: 'must be digits only' }],
    });
    expect(optionError('--url: must be a URL that starts with https://')).toEqual({
      detail: 'url: must be a URL that starts with https://',
      errors: [{ field: 'url', message: 'must be a URL that starts with https://' }],
    });
    expect(optionError('--dedup-window: "99d" is too long: 0s to 30d')).toEqual({
      detail: 'dedup window: "99d" is too long: 0s to 30d',
    });
  });

  it('stays as it is if it names no option', () => {
    const text = 'There is no site shop.example. Add it with "sites add shop.example".';
    expect(optionError(text)).toEqual({ detail: text });
  });
});
