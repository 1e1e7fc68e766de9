import { choose, listingProblems, optionsOf, pickedEvents, suggestedFor } from './account-options.js';

const OPTIONS = [
  { value: '1', label: 'Manager' },
  { setting: 'customer_id', value: '2', label: 'Shop DE', also: { login_customer_id: '1' }, parent: '1' },
  { setting: 'customer_id', value: '3', label: 'Shop FR', parent: '1', problem: 'Not enabled.' },
  { setting: 'event', value: '7', label: 'Order', parent: '2', suits: 'purchase' as const },
  { setting: 'event', value: '8', label: 'Commande', parent: '3', suits: 'purchase' as const },
];
const labels = (setting: string, chosen: Record<string, string>) =>
  optionsOf(OPTIONS, setting, chosen).map(({ label }) => label);

describe('what an account has', () => {
  it('is offered for the setting that it is for', () => {
    expect(labels('customer_id', {})).toEqual(['Shop DE', 'Shop FR']);
    expect(labels('pixel_id', {})).toEqual([]);
  });

  it('is limited to the account that was chosen', () => {
    expect(labels('event', {})).toEqual(['Order', 'Commande']);
    expect(labels('event', { customer_id: '2' })).toEqual(['Order']);
  });

  it('can be chosen for standard events, those that are mapped, and those that were received', () => {
    expect(pickedEvents({}, [])).toEqual(['purchase', 'lead', 'signup']);
    const settings = { customer_id: '2', 'event.trial': '7', 'event.lead': '8' };
    expect(pickedEvents(settings, ['purchase', 'renewal', 'renewal', 'trial'])).toEqual([
      ...['purchase', 'lead', 'signup', 'trial', 'renewal'],
    ]);
  });

  it('brings further settings with it', () => {
    expect(choose({ a: 'b' }, 'customer_id', OPTIONS[1], '2')).toEqual({
      a: 'b',
      customer_id: '2',
      login_customer_id: '1',
    });
    expect(choose({}, 'customer_id', undefined, '9')).toEqual({ customer_id: '9' });
  });

  it('is proposed for an event if only one suits it', () => {
    expect(suggestedFor(OPTIONS, 'purchase')).toBeUndefined();
    expect(suggestedFor(optionsOf(OPTIONS, 'event', { customer_id: '2' }), 'purchase')?.value).toBe('7');
    expect(suggestedFor(OPTIONS, 'lead')).toBeUndefined();
  });

  it('has a text that names what could not be listed', () => {
    expect(listingProblems(OPTIONS)).toEqual(['Shop FR: Not enabled.']);
  });
});
