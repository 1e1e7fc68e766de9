import { readRules, rulesText } from './source-rules-view.js';

describe('the rules of a source as text', () => {
  it('are read as they are shown', () => {
    const rules = {
      'orders/paid': { value: '/current_total_price | number', when: '/status = paid, completed' },
      'a:b': { 'custom.x': "'='", 'items[].id': '' },
    };
    expect(readRules(rulesText(rules))).toEqual(rules);
  });

  it('have lines without a rule left out, and name one that is none', () => {
    expect(readRules('\n  orders/paid:value=/a \n\n')).toEqual({ 'orders/paid': { value: '/a' } });
    expect(readRules('orders/paid value')).toBe('orders/paid value');
    expect(readRules('orders/paid:=x')).toBe('orders/paid:=x');
  });
});
