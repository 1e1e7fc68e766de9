import { nextStep, reasonText } from './reason-view.js';

describe('the reason of an outcome', () => {
  it('is in words if the service gives it, and otherwise what the platform said', () => {
    expect(reasonText('no_click_identifier')).toBe('no click ID');
    expect(reasonText('190: Invalid OAuth access token.')).toBe('190: Invalid OAuth access token.');
    expect(reasonText('toString')).toBe('toString');
  });

  it.each([
    ['pinterest', 'no identifier that Pinterest accepts: it needs an email'],
    ['snapchat:second', 'no identifier that Snapchat accepts: it needs an email or a phone number'],
    ['x', 'no identifier that X accepts: it needs an email, a phone number or a click ID of its own'],
    ['removed_platform', 'no identifier that the platform accepts'],
  ])('says what %s needs of a person', (connection, text) => {
    expect(reasonText('no_identifier', connection)).toBe(text);
  });
});

it('what follows an accepted delivery is a confirmation, and otherwise an attempt', () => {
  expect([nextStep('accepted'), nextStep('deferred')]).toEqual(['confirmation', 'next attempt']);
});
