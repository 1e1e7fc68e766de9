import { at, shorten, textAt, unreadable, verdictOfStatus } from './common-verdict.js';
import type { PlatformResponse } from './platform.js';

const HASH = '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d';

function answer(status: number, headers: Record<string, string> = {}): PlatformResponse {
  return { status, headers, text: '', json: undefined };
}

describe('verdictOfStatus', () => {
  it.each([200, 201, 204, 299])('leaves %i to the platform', (status) => {
    expect(verdictOfStatus(answer(status))).toBeUndefined();
  });

  it.each([
    [408, 'server_error'],
    [429, 'throttled'],
    [500, 'server_error'],
    [502, 'server_error'],
    [503, 'server_error'],
    [504, 'server_error'],
    [599, 'server_error'],
  ])('retries after %i and honours Retry-After', (status, reason) => {
    expect(verdictOfStatus(answer(status), undefined, 'R')).toEqual({ kind: 'retry', reason, requestId: 'R' });
    expect(verdictOfStatus(answer(status, { 'retry-after': '7' }))).toMatchObject({ reason, afterMs: 7_000 });
  });

  it('knows that a request answered with 425 was not processed', () => {
    const verdict = { kind: 'retry', reason: 'server_error', unknown: false };
    expect(verdictOfStatus(answer(425))).toEqual(verdict);
    expect(verdictOfStatus(answer(425, { 'retry-after': '7' }))).toEqual({ ...verdict, afterMs: 7_000 });
  });

  it.each([401, 403])('treats %i as a credentials error', (status) => {
    expect(verdictOfStatus(answer(status))).toEqual({ kind: 'unauthorized', reason: `HTTP ${status}` });
  });

  it.each([100, 302, 400, 404, 409, 410, 413, 422])('rejects after %i', (status) => {
    expect(verdictOfStatus(answer(status))).toEqual({ kind: 'rejected', reason: `HTTP ${status}` });
  });

  it('shortens the error message of the platform', () => {
    const verdict = verdictOfStatus(answer(400), `em ${HASH}\nis not valid`);
    expect(verdict).toEqual({ kind: 'rejected', reason: 'em … is not valid' });
  });
});

describe('unreadable', () => {
  it('never counts as success', () => {
    expect(unreadable(answer(200))).toEqual({ kind: 'retry', reason: 'server_error' });
    expect(unreadable(answer(200, { 'retry-after': '3' }))).toMatchObject({ kind: 'retry', afterMs: 3_000 });
    expect(unreadable(answer(400))).toEqual({ kind: 'rejected', reason: 'HTTP 400' });
  });
});

describe('shorten', () => {
  it.each([
    ['returns one line', ' The event\r\n\tis not\u2028valid. \n', 'The event is not valid.'],
    ['removes hashes', `em ${HASH} and ${HASH.toUpperCase()}`, 'em … and …'],
    ['removes email addresses', 'user jane.doe+x@example.com, "jane@example.com"', 'user … "…"'],
    ['removes encoded email addresses', 'at ?em=jane%40example.com now', 'at … now'],
    ['removes IPv4 addresses', 'ip 203.0.113.10 is not valid', 'ip … is not valid'],
    ['removes IPv6 addresses', 'ip 2001:db8:0:1::7 is not valid', 'ip … is not valid'],
    ['removes phone numbers', 'phone +15550104477 is not valid', 'phone … is not valid'],
    ['keeps a time of day', 'at 10:15:30', 'at 10:15:30'],
    ['keeps codes and versions', '100/2804050 v26.0 events[3]', '100/2804050 v26.0 events[3]'],
    ['keeps other scripts', 'Ungültig: 値が無効です 🛒', 'Ungültig: 値が無効です 🛒'],
    ['removes NUL, which PostgreSQL rejects', 'a\u0000b', 'ab'],
    ['removes other control characters', '\u001b[31mred\u0007\u009f\u007f', '[31mred'],
    ['removes unpaired surrogates, which PostgreSQL rejects', 'a\ud83d b\ude00 c', 'a b c'],
    ['removes a hash that contains a NUL', `${HASH.slice(0, 20)}\u0000${HASH.slice(20)}`, '…'],
  ])('%s', (_, text, short) => {
    expect(shorten(text)).toBe(short);
  });

  it('returns at most 1,000 characters', () => {
    expect(shorten('x'.repeat(1_000))).toBe('x'.repeat(1_000));
    expect(shorten('x'.repeat(1_001))).toBe(`${'x'.repeat(999)}…`);
  });

  it('does not cut a surrogate pair in half', () => {
    const short = shorten(`${'x'.repeat(998)}🛒🛒`);
    expect(short).toBe(`${'x'.repeat(998)}…`);
    expect(Buffer.from(short).toString()).toBe(short);
  });

  it.each([
    ['one word', 'a'.repeat(65_536)],
    ['one email address', `${'a'.repeat(65_535)}@`],
    ['many email addresses', 'a@'.repeat(32_768)],
    ['colons', ':'.repeat(65_536)],
    ['short numbers', '1.'.repeat(32_768)],
    ['blanks', ' '.repeat(65_536)],
  ])('needs no time that grows with the square of the length: %s', (_, text) => {
    const before = process.cpuUsage();
    shorten(text);
    // A few milliseconds; with an expression that backtracks, seconds.
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(500);
  });
});

describe('at and textAt', () => {
  const json = { errors: [{ message: 'no', code: 7 }] };

  it('follow the path', () => {
    expect(at(json, 'errors', 0, 'code')).toBe(7);
    expect(textAt(json, 'errors', 0, 'message')).toBe('no');
    expect(at(json)).toBe(json);
  });

  it.each([undefined, null, 'text', 7, [], {}])('return undefined for a missing path in %j', (value) => {
    expect(at(value, 'errors', 0, 'message')).toBeUndefined();
  });

  it('ignore inherited properties, and textAt ignores other types', () => {
    expect(at(json, 'constructor')).toBeUndefined();
    expect(at(json, 'errors', 'length', 'toFixed')).toBeUndefined();
    expect(textAt(json, 'errors', 0, 'code')).toBeUndefined();
  });
});
