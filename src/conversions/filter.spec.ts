import { subjectOf } from '../kernel/email.js';
import { changedSettings, DEFAULT_SITE_SETTINGS } from '../sites/site-settings.js';
import { filterReason } from './filter.js';

function reasonFor(email: string, ...set: { flag: string; value: string }[]) {
  const settings = { ...DEFAULT_SITE_SETTINGS, ...changedSettings(DEFAULT_SITE_SETTINGS, { set, unset: [] }) };
  return filterReason(settings, subjectOf(email), email);
}

describe('a blocked domain', () => {
  it.each([
    ['@example.com', 'jo@example.com'],
    ['@example.com', 'jo@example.com.'],
    ['@Example.com.', 'jo@example.com'],
    ['@münchen.example', 'jo@münchen.example'],
    ['@münchen.example', 'jo@xn--mnchen-3ya.example'],
    ['@xn--mnchen-3ya.example', 'jo@münchen.example'],
  ])('%s includes %s', (value, email) => {
    expect(reasonFor(email, { flag: 'block', value })).toBe('blocked_domain');
  });

  it.each(['jo@shop.example.com', 'jo@notexample.com', 'example.com@other.example'])('does not include %s', (email) => {
    expect(reasonFor(email, { flag: 'block', value: '@example.com' })).toBeUndefined();
  });
});

it('a disposable domain is found with a dot at its end', () => {
  const disposable = { flag: 'block-disposable', value: 'yes' };
  expect(reasonFor('jo@mailinator.com.', disposable)).toBe('disposable_address');
  expect(reasonFor('jo@example.com', disposable)).toBeUndefined();
});
