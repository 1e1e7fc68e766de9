import { retryAfterMs } from '../../http/retry-after.js';
import { parseCondition } from '../../kernel/expressions/expression.js';
import { valueAt } from '../../kernel/expressions/pointer.js';
import { isRequestId, shorten, splitOrReject, unreadable, verdictOfStatus, withRequestId } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';
import type { Definition } from './definition-schema.js';
import { compileExpression, type Path, type Render, type Report } from './template.js';

const WAIT_MAX_SECONDS = 24 * 60 * 60;
const REFUSED_MAX = 2_000;

type Test = (response: PlatformResponse) => boolean;
type Judge = (response: PlatformResponse, items: number) => Verdict | readonly Verdict[];

/** What the answers of an API mean. Expressions read the JSON of the answer. */
export function compileAnswers(definition: Definition, report: Report): Judge {
  const { success, errors, refused } = definition;
  const context = { report, check: () => undefined };
  const read = (text: string | undefined, path: Path): Render =>
    text === undefined ? () => undefined : compileExpression(text, path, context);
  const isSuccess = isStatus(success.status);
  const isGood = success.when === undefined ? undefined : compileCondition(success.when, ['success', 'when'], report);
  const rules = errors.map((rule, index) => ({
    means: rule.means,
    hasStatus: rule.status ? isStatus(rule.status) : undefined,
    isTrue: rule.when === undefined ? undefined : compileCondition(rule.when, ['errors', index, 'when'], report),
    seconds: read(rule.retry_after, ['errors', index, 'retry_after']),
  }));
  for (const [index, { status, when }] of errors.entries())
    if (status === undefined && when === undefined) report(['errors', index], 'needs status or when');
  const reasonAt = read(definition.reason, ['reason']);
  const requestIdAt = read(definition.request_id, ['request_id']);
  const list = read(refused?.list, ['refused', 'list']);
  const indexAt = read(refused?.index, ['refused', 'index']);
  const wordsAt = read(refused?.reason, ['refused', 'reason']);

  const wordsOf = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const reasonOf = (response: PlatformResponse) => wordsOf(reasonAt(response.json)) ?? `HTTP ${response.status}`;

  /** The conversions that a list in the answer names; undefined if it names none. */
  const refusedOf = ({ json, status }: PlatformResponse, items: number): ReadonlyMap<number, string> | undefined => {
    const found = list(json);
    if (!Array.isArray(found) || found.length === 0) return undefined;
    const named = found.slice(0, REFUSED_MAX).flatMap((entry) => {
      const index = indexAt(entry);
      if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= items) return [];
      return [[index, wordsOf(wordsAt(entry)) ?? `HTTP ${status}`] as const];
    });
    return named.length > 0 ? new Map(named) : undefined;
  };

  const judge: Judge = (response, items) => {
    const rule = rules.find(
      ({ hasStatus, isTrue }) => (hasStatus?.(response) ?? true) && (!isTrue || isTrue(response) === true),
    );
    if (rule) return verdictOfRule(rule.means, response, items, reasonOf(response), rule.seconds(response.json));
    const named = refusedOf(response, items);
    if (named)
      return Array.from({ length: items }, (_, index): Verdict => {
        const reason = named.get(index);
        return reason === undefined ? { kind: success.means } : { kind: 'rejected', reason: shorten(reason) };
      });
    if (isSuccess(response)) {
      const good = isGood?.(response) ?? 'absent';
      if (!isGood || good === true) return { kind: success.means };
      return good === 'absent' ? unreadable(response) : splitOrReject(reasonOf(response), items);
    }
    const verdict = verdictOfStatus(response, reasonOf(response)) ?? unreadable(response);
    return verdict.kind === 'rejected' ? splitOrReject(verdict.reason, items) : verdict;
  };

  return (response, items) => {
    const id = requestIdAt(response.json);
    const requestId = typeof id === 'string' && isRequestId(id) ? id : undefined;
    const verdict = judge(response, items);
    if (requestId === undefined) return verdict;
    return 'kind' in verdict
      ? withRequestId(verdict, requestId)
      : verdict.map((each) => withRequestId(each, requestId));
  };
}

function verdictOfRule(
  means: Definition['errors'][number]['means'],
  response: PlatformResponse,
  items: number,
  reason: string,
  wait: unknown,
): Verdict {
  const seconds = typeof wait === 'string' && /^\d{1,6}$/.test(wait) ? Number(wait) : wait;
  const afterMs =
    typeof seconds === 'number' && seconds > 0 ? Math.min(seconds, WAIT_MAX_SECONDS) * 1_000 : retryAfterMs(response);
  switch (means) {
    case 'retry':
      return { kind: 'retry', reason: 'server_error', afterMs };
    case 'throttle':
      return { kind: 'retry', reason: 'throttled', afterMs };
    case 'reject':
      return splitOrReject(reason, items);
    case 'park':
      // A refused access token is replaced once before the connection is parked.
      return { kind: response.status === 401 ? 'unauthorized' : 'misconfigured', reason: shorten(reason) };
  }
}

function isStatus(statuses: Definition['success']['status']): Test {
  const ranges = statuses.map((each) => {
    const [first = 0, last = first] = String(each).split('-').map(Number);
    return [first, last] as const;
  });
  return ({ status }) => ranges.some(([first, last]) => status >= first && status <= last);
}

/** `absent`: the answer has no such value. */
function compileCondition(
  text: string,
  path: Path,
  report: Report,
): (response: PlatformResponse) => boolean | 'absent' {
  try {
    const { term, values } = parseCondition(text);
    return ({ json }) => {
      const found = valueAt(json, term.pointer);
      return found === undefined ? 'absent' : values.includes(String(found));
    };
  } catch (error) {
    report(path, (error as Error).message);
    return () => false;
  }
}
