import { at, retryAfterMs, shorten, textAt, unreadable, verdictOfStatus } from './common-verdict.js';
import type { PlatformResponse } from './platform.js';

const HASH = '86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d';
const NOW_MS = Date.parse('2026-03-01T10:15:30Z');

function answer(status: number, headers: Record<string, string> = {}): PlatformResponse {
  return { status, headers, text: '', json: undefined };
}

describe('what a status alone says', () => {
  it.each([200, 201, 204, 299])('%i: the body has to be looked at', (status) => {
    expect(verdictOfStatus(answer(status))).toBeUndefined();
  });

  it.each([
    [408, 'server_error'],
    [425, 'server_error'],
    [429, 'throttled'],
    [500, 'server_error'],
    [502, 'server_error'],
    [503, 'server_error'],
    [504, 'server_error'],
    [599, 'server_error'],
  ])('%i is tried again, when the answer says so', (status, reason) => {
    expect(verdictOfStatus(answer(status), undefined, 'R')).toEqual({ kind: 'retry', reason, requestId: 'R' });
    expect(verdictOfStatus(answer(status, { 'retry-after': '7' }))).toMatchObject({ reason, afterMs: 7_000 });
  });

  it.each([401, 403])('%i is about the credentials', (status) => {
    expect(verdictOfStatus(answer(status))).toEqual({ kind: 'unauthorized', reason: `HTTP ${status}` });
  });

  it.each([100, 302, 400, 404, 409, 410, 413, 422])('%i is final', (status) => {
    expect(verdictOfStatus(answer(status))).toEqual({ kind: 'rejected', reason: `HTTP ${status}` });
  });

  it('has the words of the platform, shortened', () => {
    const verdict = verdictOfStatus(answer(400), `em ${HASH}\nis not valid`);
    expect(verdict).toEqual({ kind: 'rejected', reason: 'em … is not valid' });
  });

  it('is never success where the body is not understood', () => {
    expect(unreadable(answer(200))).toEqual({ kind: 'retry', reason: 'server_error' });
    expect(unreadable(answer(200, { 'retry-after': '3' }))).toMatchObject({ kind: 'retry', afterMs: 3_000 });
    expect(unreadable(answer(400))).toEqual({ kind: 'rejected', reason: 'HTTP 400' });
  });
});

describe('Retry-After', () => {
  const DAY_MS = 24 * 60 * 60 * 1_000;

  it.each([
    ['30', 30_000],
    ['Sun, 01 Mar 2026 10:16:30 GMT', 60_000],
    ['0', undefined],
    ['Sun, 01 Mar 2026 10:15:30 GMT', undefined],
    ['Sun, 01 Mar 1026 10:15:30 GMT', undefined],
    ['soon', undefined],
    ['', undefined],
    ['-5', undefined],
    ['99999999', DAY_MS],
    ['9'.repeat(400), DAY_MS],
    ['Sun, 01 Mar 3026 10:15:30 GMT', DAY_MS],
  ])('%s', (text, ms) => {
    expect(retryAfterMs(answer(429, { 'retry-after': text }), NOW_MS)).toBe(ms);
  });

  it('may be missing', () => {
    expect(retryAfterMs(answer(429), NOW_MS)).toBeUndefined();
  });
});

describe('a shortened text', () => {
  it.each([
    ['is one line', ' The event\r\n\tis not\u2028valid. \n', 'The event is not valid.'],
    ['has no hash', `em ${HASH} and ${HASH.toUpperCase()}`, 'em … and …'],
    ['has no email address', 'user jane.doe+x@example.com, "jane@example.com"', 'user … "…"'],
    ['has no encoded email address', 'at ?em=jane%40example.com now', 'at … now'],
    ['has no IPv4 address', 'ip 203.0.113.10 is not valid', 'ip … is not valid'],
    ['has no IPv6 address', 'ip 2001:db8:0:1::7 is not valid', 'ip … is not valid'],
    ['has no phone number', 'phone +15550104477 is not valid', 'phone … is not valid'],
    ['keeps the time of day', 'at 10:15:30', 'at 10:15:30'],
    ['keeps codes and versions', '100/2804050 v26.0 events[3]', '100/2804050 v26.0 events[3]'],
    ['keeps other scripts', 'Ungültig: 値が無効です 🛒', 'Ungültig: 値が無効です 🛒'],
    ['has no NUL, which PostgreSQL refuses', 'a\u0000b', 'ab'],
    ['has no other control characters', '\u001b[31mred\u0007\u009f\u007f', '[31mred'],
    ['has no half characters, which PostgreSQL refuses', 'a\ud83d b\ude00 c', 'a b c'],
    ['has no hash that a NUL goes through', `${HASH.slice(0, 20)}\u0000${HASH.slice(20)}`, '…'],
  ])('%s', (_, text, short) => {
    expect(shorten(text)).toBe(short);
  });

  it('has at most 200 characters', () => {
    expect(shorten('x'.repeat(200))).toBe('x'.repeat(200));
    expect(shorten('x'.repeat(201))).toBe(`${'x'.repeat(199)}…`);
  });

  it('is not cut through a character', () => {
    const short = shorten(`${'x'.repeat(198)}🛒🛒`);
    expect(short).toBe(`${'x'.repeat(198)}…`);
    expect(Buffer.from(short).toString()).toBe(short);
  });

  it.each([
    ['one word', 'a'.repeat(65_536)],
    ['one address', `${'a'.repeat(65_535)}@`],
    ['many addresses', 'a@'.repeat(32_768)],
    ['colons', ':'.repeat(65_536)],
    ['short numbers', '1.'.repeat(32_768)],
    ['blanks', ' '.repeat(65_536)],
  ])('is soon made of all that is read of an answer: %s', (_, text) => {
    const startedMs = performance.now();
    shorten(text);
    expect(performance.now() - startedMs).toBeLessThan(100);
  });
});

describe('a property of an answer that may be anything', () => {
  const found = { errors: [{ message: 'no', code: 7 }] };

  it('is found by its path', () => {
    expect(at(found, 'errors', 0, 'code')).toBe(7);
    expect(textAt(found, 'errors', 0, 'message')).toBe('no');
    expect(at(found)).toBe(found);
  });

  it.each([undefined, null, 'text', 7, [], {}])('is undefined in %j', (value) => {
    expect(at(value, 'errors', 0, 'message')).toBeUndefined();
  });

  it('is undefined when it is inherited, and no text when it is none', () => {
    expect(at(found, 'constructor')).toBeUndefined();
    expect(at(found, 'errors', 'length', 'toFixed')).toBeUndefined();
    expect(textAt(found, 'errors', 0, 'code')).toBeUndefined();
  });
});
