import { reasonText } from './reason-view.js';

describe('the reason of an outcome', () => {
  it('is in words if the service gives it, and otherwise what the platform said', () => {
    expect(reasonText('no_click_identifier')).toBe('no click ID');
    expect(reasonText('190: Invalid OAuth access token.')).toBe('190: Invalid OAuth access token.');
    expect(reasonText('toString')).toBe('toString');
  });
});
