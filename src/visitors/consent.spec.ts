import type { ConsentState } from '../events/visitor.events.js';
import { type ConsentingVisitor, decideConsent, meaningOf, readConsent, type StoredStatement } from './consent.js';

const YES = { ad_storage: 'granted', ad_user_data: 'granted' } as const;

describe('consent', () => {
  it.each([
    [{ ad_storage: 'granted', ad_user_data: 'granted' }, 'granted'],
    [{ ad_storage: 'granted', ad_user_data: 'denied' }, 'denied'],
    [{ ad_storage: 'granted' }, 'unknown'],
    [{ ad_storage: 'denied' }, 'denied'],
    [{ ad_storage: 'granted', gpc: true }, 'denied'],
    [{ gpc: true }, 'denied'],
    // Neither field concerns advertising.
    [{ analytics_storage: 'denied' }, 'unknown'],
    [{ ad_personalization: 'denied' }, 'unknown'],
    [undefined, 'unknown'],
  ] as const)('%j means %s', (state, meaning) => {
    expect(meaningOf(state)).toBe(meaning);
  });

  it('reads valid fields and ignores everything else', () => {
    expect(readConsent({ ad_storage: 'denied', ad_user_data: 'maybe', gpc: 'yes', other: 1 })).toEqual({
      ad_storage: 'denied',
    });
    for (const nothing of [null, undefined, 'granted', 1, {}, { gpc: false }, []])
      expect(readConsent(nothing)).toBeUndefined();
  });

  describe('of a person', () => {
    const DENIED = { ad_storage: 'denied' } as const;
    const [JANE, OTHER, OPERATOR, UNRECOGNISED, BEFORE] = ['aa', 'bb', '00', '01', ''];
    const visitor = (id: string, own: { speaker?: string; granted?: true } = { speaker: id }) => ({ id, visit: own });
    const opted = { consent: 'denied', withheld: 'opted_out' };

    describe('to personalised advertising', () => {
      const ALL = { ...YES, ad_personalization: 'granted' } as const;
      const NOT_PERSONAL = { ...YES, ad_personalization: 'denied' } as const;
      const both = [visitor(JANE), visitor(OTHER)];
      const jane = (state: ConsentState): StoredStatement => [JANE, 1, state];
      const other = (state: ConsentState): StoredStatement => [OTHER, 2, state];

      it.each<[string, StoredStatement[], ConsentingVisitor[], object]>([
        ['granted by all', [jane(ALL), other(ALL)], both, { personalization: 'granted' }],
        ['granted without a visit', [jane(ALL)], [], { personalization: 'granted' }],
        ['granted by the operator', [[OPERATOR, 2, ALL], jane(YES)], both, { personalization: 'granted' }],
        ['not stated', [jane(YES)], [visitor(JANE)], {}],
        ['not stated by one', [jane(ALL), other(YES)], both, {}],
        ['not stated by the operator', [[OPERATOR, 2, YES], jane(ALL)], both, {}],
        ['not stated with a visit', [], [visitor(JANE, { granted: true })], {}],
        ['denied by one', [jane(ALL), other(NOT_PERSONAL)], both, { personalization: 'denied' }],
        [
          'denied by one without a visit',
          [jane(ALL), other(NOT_PERSONAL)],
          [visitor(JANE)],
          { personalization: 'denied' },
        ],
        [
          'denied after the operator’s statement',
          [[OPERATOR, 1, ALL], other(NOT_PERSONAL)],
          both,
          { personalization: 'denied' },
        ],
      ])('is separate: %s', (_, statements, visitors, expected) => {
        expect(decideConsent(statements, visitors, false)).toEqual({ consent: 'granted', ...expected });
      });

      it('is not granted while consent itself is not, and a denial counts also then', () => {
        const only = (value: 'granted' | 'denied') => decideConsent([jane({ ad_personalization: value })], [], false);
        expect(only('granted')).toEqual({ consent: 'unknown' });
        expect(only('denied')).toEqual({ consent: 'unknown', personalization: 'denied' });
        expect(decideConsent([jane({ ...ALL, ad_storage: 'denied' })], [], false)).toEqual(opted);
      });
    });

    it.each([
      ['granted by the only visitor', [[JANE, 1, YES]], [visitor(JANE)], { consent: 'granted' }],
      ['granted with a visit', [], [visitor(JANE, { granted: true })], { consent: 'granted' }],
      ['granted without a visit', [[JANE, 1, YES]], [], { consent: 'granted' }],
      ['denied', [[JANE, 1, DENIED]], [visitor(JANE)], opted],
      [
        'denied by another visitor',
        [
          [JANE, 1, YES],
          [OTHER, 2, DENIED],
        ],
        [visitor(JANE)],
        opted,
      ],
      [
        'denied, and granted by another visitor',
        [
          [JANE, 1, DENIED],
          [OTHER, 2, YES],
        ],
        [visitor(JANE)],
        opted,
      ],
      [
        'denied by an unrecognised visitor',
        [
          [UNRECOGNISED, 1, DENIED],
          [JANE, 2, YES],
        ],
        [visitor(JANE)],
        opted,
      ],
      [
        'not stated, and granted by another visitor',
        [[OTHER, 2, YES]],
        [visitor(JANE), visitor(OTHER)],
        { consent: 'unknown' },
      ],
      [
        'denied, then granted by an operator',
        [
          [JANE, 1, DENIED],
          [OPERATOR, 2, YES],
        ],
        [visitor(JANE)],
        { consent: 'granted' },
      ],
      [
        'granted by an operator, then denied',
        [
          [OPERATOR, 1, YES],
          [JANE, 2, DENIED],
        ],
        [visitor(JANE)],
        opted,
      ],
      [
        'denied by an operator, then granted by the visitor',
        [
          [OPERATOR, 1, DENIED],
          [JANE, 2, YES],
        ],
        [visitor(JANE)],
        opted,
      ],
      ['granted before version 0.3', [[BEFORE, 1, YES]], [visitor(BEFORE, {})], { consent: 'granted' }],
      [
        'granted before version 0.3, not by a new visitor',
        [[BEFORE, 1, YES]],
        [visitor(JANE, {})],
        { consent: 'unknown' },
      ],
      ['missing', [], [], { consent: 'unknown' }],
      ['unreadable', 'unreadable', [], { consent: 'unknown', withheld: 'consent_unreadable' }],
    ] as const)('follows from its statements and visits: %s', (_, statements, visitors, decision) => {
      expect(decideConsent(statements, visitors, false)).toEqual(decision);
      const isUnknown = decision.consent === 'unknown' && statements !== 'unreadable';
      const required = isUnknown ? { consent: 'denied', withheld: 'consent_missing' } : decision;
      expect(decideConsent(statements, visitors, true)).toEqual(required);
    });
  });
});
