import type { Verdict } from './platform.js';
import { combineVerdicts, failureOf } from './several-actions.js';

const DELIVERED: Verdict = { kind: 'delivered' };
const REJECTED: Verdict = { kind: 'rejected', reason: 'CLICK_NOT_FOUND' };
const PROCESSING: Verdict = { kind: 'retry', reason: 'timeout' };
const LATER: Verdict = { kind: 'retry', reason: 'server_error', afterMs: 6 };
const MUCH_LATER: Verdict = { kind: 'retry', reason: 'server_error', afterMs: 60 };
const SPLIT: Verdict = { kind: 'split', reason: 'PARTIAL_SUCCESS' };
const WITHOUT: Verdict = { kind: 'without', identifiers: ['click'], reason: 'INVALID_GCLID' };
const MISCONFIGURED: Verdict = { kind: 'misconfigured', reason: 'INVALID_CONVERSION_ACTION_ID' };

describe('combineVerdicts', () => {
  it.each<[string, Verdict[], Verdict]>([
    ['all delivered', [DELIVERED, DELIVERED], DELIVERED],
    ['one rejected', [DELIVERED, REJECTED], { kind: 'rejected', reason: 'delivered, but not to 222: CLICK_NOT_FOUND' }],
    [
      'all rejected',
      [REJECTED, { kind: 'rejected', reason: 'EXPIRED' }],
      { kind: 'rejected', reason: '111: CLICK_NOT_FOUND; 222: EXPIRED' },
    ],
    ['all rejected for the same reason', [REJECTED, REJECTED], REJECTED],
    ['one in process', [MISCONFIGURED, PROCESSING], PROCESSING],
    ['one to be sent again', [REJECTED, LATER], LATER],
    ['both to be sent again', [LATER, MUCH_LATER], MUCH_LATER],
    ['one that differs between conversions', [DELIVERED, SPLIT, LATER], SPLIT],
    [
      'one that a person has to fix',
      [DELIVERED, MISCONFIGURED, REJECTED],
      { kind: 'misconfigured', reason: 'INVALID_CONVERSION_ACTION_ID (222)' },
    ],
    ['one without identifiers, beside one that is delivered', [DELIVERED, WITHOUT, REJECTED], WITHOUT],
    [
      'without several identifiers',
      [WITHOUT, { ...WITHOUT, identifiers: ['email'] }],
      { ...WITHOUT, identifiers: ['click', 'email'] },
    ],
    ['a single one, delivered', [DELIVERED], DELIVERED],
    ['a single one, rejected', [REJECTED], REJECTED],
    ['a single one, wrong', [MISCONFIGURED], MISCONFIGURED],
  ])('gives one verdict for several actions: %s', (_, verdicts, expected) => {
    const actions = ['111', '222', '333'];
    const all = verdicts.map((verdict, index) => ({ action: actions[index] as string, verdict }));
    expect(combineVerdicts(all)).toEqual(expected);
  });
});

describe('failureOf', () => {
  it('says first that others were delivered, whatever the length of the reasons', () => {
    const reason = failureOf([{ action: '222', reason: 'x'.repeat(2_000) }], 2);
    expect(reason).toMatch(/^delivered, but not to 222: x+…?$/);
    expect(reason.length).toBeLessThanOrEqual(1_001);
  });
});
