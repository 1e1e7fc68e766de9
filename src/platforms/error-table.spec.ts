import { type ErrorRow, fixOf, rowOf, verdictOfRow } from './error-table.js';

const TABLE: readonly ErrorRow[] = [
  { codes: ['100/33'], verdict: 'misconfigured', fix: 'Check the pixel.' },
  { codes: [100], verdict: 'rejected' },
  { codes: [190, [200, 299]], verdict: 'unauthorized', fix: 'Set a new token.' },
  { codes: ['TOO_RECENT'], verdict: 'server_error', afterMs: 6_000, unknown: false },
  { codes: ['quotaError'], verdict: 'throttled' },
];

describe('an error table', () => {
  it('has a row for the codes of a range, both ends included', () => {
    const found = [199, 200, 250, 299, 300].map((code) => rowOf(TABLE, code)?.verdict);
    expect(found).toEqual([undefined, 'unauthorized', 'unauthorized', 'unauthorized', undefined]);
  });

  it('prefers the first of several codes that has a row', () => {
    expect(rowOf(TABLE, '100/33', 100)).toBe(TABLE[0]);
    expect(rowOf(TABLE, '100/34', 100)).toBe(TABLE[1]);
    expect(rowOf(TABLE, undefined, 'unknown', 'quotaError')).toBe(TABLE[4]);
    expect(rowOf(TABLE, undefined)).toBeUndefined();
    expect(rowOf(TABLE, 'toString', '')).toBeUndefined();
  });

  it('gives a verdict with the reason in one line, or the wait', () => {
    const [wrong, , refused, tooRecent, limited] = TABLE as [ErrorRow, ErrorRow, ErrorRow, ErrorRow, ErrorRow];
    expect(verdictOfRow(wrong, '100/33 Not\nfound', { requestId: 'R' })).toEqual({
      kind: 'misconfigured',
      reason: '100/33 Not found',
      requestId: 'R',
    });
    expect(verdictOfRow(refused, '190 jane@example.com')).toEqual({ kind: 'unauthorized', reason: '190 …' });
    expect(verdictOfRow(tooRecent, 'x')).toEqual({
      kind: 'retry',
      reason: 'server_error',
      afterMs: 6_000,
      unknown: false,
    });
    expect(verdictOfRow(limited, 'x', { afterMs: 7 })).toEqual({ kind: 'retry', reason: 'throttled', afterMs: 7 });
  });

  it.each([
    ['100/33 Unsupported post request', 'Check the pixel.'],
    ['190/463 The access token has expired', 'Set a new token.'],
    ['210 No access', 'Set a new token.'],
    ['100/34 Invalid', undefined],
    ['HTTP 401', undefined],
    ['', undefined],
  ])('tells what to do about "%s"', (reason, fix) => {
    expect(fixOf(TABLE, reason)).toBe(fix);
  });
});
