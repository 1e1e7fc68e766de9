import { lastDelivery, readRules, rulesText, sampleOf, sampleOptions, trialText } from './source-rules-view.js';

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

describe('what rules are tried with', () => {
  const listed = { position: '7', time: '2026-11-19T18:01:02.003Z', topic: 'orders/paid' };

  it('are the newest deliveries, and the documented ones', () => {
    const options = sampleOptions([listed], ['orders-paid']);
    expect(options.map(([, label]) => label)).toEqual(['orders/paid, 2026-11-19 18:01 UTC', 'documented: orders-paid']);
    expect(options.map(([value]) => sampleOf(value))).toEqual([{ delivery: '7' }, { fixture: 'orders-paid' }]);
    expect(sampleOptions(Array(50).fill(listed), [])).toHaveLength(10);
  });
});

describe('the test of a source', () => {
  it('is no delivery of its sender', () => {
    const [trial, sent] = [{ outcome: 'trial' }, { outcome: 'ignored' }];
    expect([lastDelivery([trial, sent]), lastDelivery([trial])]).toEqual([sent, undefined]);
  });

  it('says what became of it', () => {
    expect(trialText({ outcome: 'received' })).toBe('A trial conversion was stored, and is listed below.');
    expect(trialText({ outcome: 'ignored', reason: 'condition' })).toBe('No trial conversion: ignored, condition.');
  });
});
