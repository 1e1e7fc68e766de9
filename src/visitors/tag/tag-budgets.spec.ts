import { type BudgetedCall, TagBudgets } from './tag-budgets.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
const NOON = 20_000 * DAY_MS + DAY_MS / 2;
const ANY = Number.POSITIVE_INFINITY;
const UNLIMITED = { emails: ANY, calls: ANY, bytes: ANY };
const budgets = (limits: Partial<ConstructorParameters<typeof TagBudgets>[0]>) =>
  new TagBudgets({ address: UNLIMITED, visitor: UNLIMITED, person: UNLIMITED, site: UNLIMITED, ...limits });
const email = (number: number) => String(number).padStart(64, '0').split('').reverse().join('');
const call = (fields: Partial<BudgetedCall> = {}): BudgetedCall => ({
  ...{ site: 'shop.example', address: '192.0.2.1', visitor: undefined, subject: undefined, bytes: 100 },
  ...fields,
});

describe('TagBudgets', () => {
  it.each([
    ['address', { address: '192.0.2.9' }],
    ['visitor', { visitor: 'v2' }],
    ['person', { subject: email(9) }],
    ['site', { site: 'other.example' }],
  ] as const)('limits the calls of one %s in a day', (scope, other) => {
    const limited = budgets({ [scope]: { ...UNLIMITED, calls: 2 } });
    const mine = call({ visitor: 'v1', subject: email(1) });
    for (let each = 0; each < 2; each += 1) expect(limited.take(mine, NOON)).toBeUndefined();
    expect(limited.take(mine, NOON)).toEqual({ scope, limit: 'calls', retryAfterS: 12 * 3_600 });
    expect(limited.take({ ...mine, ...other }, NOON)).toBeUndefined();
    expect(limited.take(mine, NOON + DAY_MS)).toBeUndefined();
  });

  it('limits distinct emails and bytes', () => {
    const limited = budgets({ address: { emails: 2, calls: ANY, bytes: 1_000 } });
    for (const subject of [email(1), email(2), email(1), undefined])
      expect(limited.take(call({ subject }), NOON)).toBeUndefined();
    expect(limited.take(call({ subject: email(3) }), NOON)).toMatchObject({ scope: 'address', limit: 'emails' });
    expect(limited.take(call({ bytes: 601 }), NOON)).toMatchObject({ scope: 'address', limit: 'bytes' });
    expect(limited.take(call({ bytes: 600 }), NOON)).toBeUndefined();
  });

  it('takes nothing for a refused call', () => {
    const limited = budgets({ person: { ...UNLIMITED, calls: 1 }, address: { ...UNLIMITED, calls: 2 } });
    const about = (number: number) => limited.take(call({ subject: email(number) }), NOON);
    expect([about(1), about(1)?.scope, about(1)?.scope, about(2), about(3)?.scope]).toEqual([
      ...[undefined, 'person', 'person'],
      ...[undefined, 'address'],
    ]);
  });

  it('uses bounded memory: callers beyond a number are bound by the site’s budget alone', () => {
    const limited = budgets({ address: { ...UNLIMITED, calls: 1 }, site: { ...UNLIMITED, calls: 105_000 } });
    const from = (number: number) =>
      limited.take(call({ address: `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}` }), NOON);
    let refused = 0;
    for (let each = 0; each < 110_000; each += 1) if (from(each)) refused += 1;
    expect(refused).toBe(5_000);
    expect((limited as unknown as { used: Map<string, unknown> }).used.size).toBe(100_000);
  });
});
