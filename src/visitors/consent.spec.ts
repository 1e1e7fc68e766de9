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
    [{ ad_storage: 'denied', undecided: true }, 'undecided'],
    [{ ad_storage: 'granted', ad_user_data: 'denied', undecided: true }, 'undecided'],
    // Global Privacy Control is a decision.
    [{ ad_storage: 'denied', gpc: true, undecided: true }, 'denied'],
    [{ analytics_storage: 'denied', undecided: true }, 'unknown'],
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
    const denied = { ad_storage: 'denied', undecided: true };
    expect(readConsent(denied)).toEqual(denied);
    expect(readConsent({ ...denied, gpc: true })).toEqual({ ad_storage: 'denied', gpc: true });
    expect(readConsent({ ad_storage: 'granted', undecided: true })).toEqual({ ad_storage: 'granted' });
    for (const nothing of [null, undefined, 'granted', 1, {}, { gpc: false }, []])
      expect(readConsent(nothing)).toBeUndefined();
  });

  describe('of a person', () => {
    const DENIED = { ad_storage: 'denied' } as const;
    const [JANE, OTHER, OPERATOR, UNRECOGNISED, UNDECIDED, BEFORE] = ['aa', 'bb', '00', '01', '02', ''];
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

    describe('who is undecided on a page that denies by default', () => {
      const PAGE = { ...DENIED, undecided: true } as const;
      const withheld = { consent: 'denied', withheld: 'undecided' };

      it.each([
        ['counts as if denied', [[UNDECIDED, 1, PAGE]], withheld],
        [
          'and granted before, as another visitor',
          [
            [JANE, 1, YES],
            [UNDECIDED, 2, PAGE],
          ],
          withheld,
        ],
        [
          'and granted afterwards',
          [
            [UNDECIDED, 1, PAGE],
            [JANE, 2, YES],
          ],
          { consent: 'granted' },
        ],
        [
          'and denied afterwards',
          [
            [UNDECIDED, 1, PAGE],
            [JANE, 2, DENIED],
          ],
          opted,
        ],
        [
          'and denied before',
          [
            [JANE, 1, DENIED],
            [UNDECIDED, 2, PAGE],
          ],
          opted,
        ],
        [
          'after an operator’s grant',
          [
            [OPERATOR, 1, YES],
            [UNDECIDED, 2, PAGE],
          ],
          { consent: 'granted' },
        ],
        [
          'after an operator’s denial',
          [
            [OPERATOR, 1, DENIED],
            [UNDECIDED, 2, PAGE],
          ],
          opted,
        ],
      ] as const)('%s', (_, statements, decision) => {
        for (const isRequired of [false, true])
          expect(decideConsent(statements, [visitor(JANE)], isRequired)).toEqual(decision);
      });

      it('is no visitor’s statement', () => {
        const statements = [
          [JANE, 1, PAGE],
          [OTHER, 2, YES],
        ] as const;
        expect(decideConsent(statements, [visitor(JANE)], false)).toEqual({ consent: 'unknown' });
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
