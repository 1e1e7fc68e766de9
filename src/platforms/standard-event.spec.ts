import { standardEventOf } from './standard-event.js';

describe('standardEventOf', () => {
  it.each([
    ['purchase', 'purchase'],
    ['Purchase', 'purchase'],
    ['order_completed', 'purchase'],
    ['orderCompleted', 'purchase'],
    ['Order Completed', 'purchase'],
    ['new-sale', 'purchase'],
    ['Lead', 'lead'],
    ['contact_form', 'lead'],
    ['sign_up', 'signup'],
    ['SignUp', 'signup'],
    ['user.registered', 'signup'],
    ['newsletter subscription', 'signup'],
  ])('recognises %s as %s', (event, standard) => {
    expect(standardEventOf(event)).toBe(standard);
  });

  it.each(['refund', 'page_view', 'reordering', 'platform', 'misleading', '', '  '])('does not guess %j', (event) => {
    expect(standardEventOf(event)).toBeUndefined();
  });
});
