import { isObject, isText, jsonAnswer } from '../checks.js';
import type { Memory, Order, SandboxAnswer, SandboxRequest } from '../double.js';

export const STATUS_PATH = '/v1/requestStatus:retrieve';

const STATUSES = ['SUCCESS', 'PROCESSING', 'PARTIAL_SUCCESS', 'FAILED'];
const REASON_PREFIX = 'PROCESSING_ERROR_REASON_';
const REASON = /^[A-Z_]+$/;
const ORDERED = 'ordered status';
const COUNTER = 'requests';

/** The id itself says how many events the call had and how many of them lacked consent: nothing needs to be kept. */
const REQUEST_ID = /^sandbox-(\d+)-(\d+)-(\d+)$/;

interface OrderedStatus {
  readonly status: string;
  readonly reason: string;
  left: number;
}

export function newRequestId(memory: Memory, events: number, denied: number): string {
  const number = ((memory.get(COUNTER) as number | undefined) ?? 0) + 1;
  memory.set(COUNTER, number);
  return `sandbox-${number}-${events}-${denied}`;
}

/** What became of a call that was accepted. */
export function statusAnswer({ query, memory }: SandboxRequest): SandboxAnswer {
  const [, number, events, denied] = REQUEST_ID.exec(query.get('requestId') ?? '') ?? [];
  if (number === undefined || Number(number) > ((memory.get(COUNTER) as number | undefined) ?? 0)) {
    return jsonAnswer(404, { error: { code: 404, status: 'NOT_FOUND', message: 'The request id is not known.' } });
  }
  const records = Number(events);
  const ordered = takeOrdered(memory);
  if (ordered !== undefined) return outcome(ordered.status, records, ordered.reason, 1);
  if (Number(denied) === 0) return outcome('SUCCESS', records);
  const status = Number(denied) === records ? 'FAILED' : 'PARTIAL_SUCCESS';
  return outcome(status, records, `${REASON_PREFIX}DENIED_CONSENT`, Number(denied));
}

/** `{"mode":"status","status":"FAILED","reason":"CLICK_NOT_FOUND","times":2}`: what the next questions are answered. */
export function controlStatus(order: Order, memory: Memory): string | undefined {
  if (order.mode === 'ok') {
    memory.delete(ORDERED);
    return undefined;
  }
  if (order.mode !== 'status') return 'google_ads knows one mode more than the others: "status".';
  const { status, reason = 'INVALID_CLICK', times = Number.POSITIVE_INFINITY } = order;
  if (!isText(status) || !STATUSES.includes(status)) return `"status" is one of ${STATUSES.join(', ')}.`;
  if (!isText(reason) || !REASON.test(reason)) return '"reason" is a name in capitals such as CLICK_NOT_FOUND.';
  if (typeof times !== 'number' || !(times >= 1)) return '"times" is a number from 1 on; leave it out for always.';
  const prefixed = reason.startsWith(REASON_PREFIX) ? reason : REASON_PREFIX + reason;
  memory.set(ORDERED, { status, reason: prefixed, left: times } satisfies OrderedStatus);
  return undefined;
}

function takeOrdered(memory: Memory): OrderedStatus | undefined {
  const ordered = memory.get(ORDERED);
  if (!isObject(ordered)) return undefined;
  const taken = ordered as unknown as OrderedStatus;
  taken.left -= 1;
  if (taken.left <= 0) memory.delete(ORDERED);
  return taken;
}

/** Counts are 64 bit numbers, which Google writes as text. */
function outcome(requestStatus: string, records: number, reason = '', failed = 0): SandboxAnswer {
  const recordCount = String(requestStatus === 'FAILED' ? records : failed);
  const errors = requestStatus === 'FAILED' || requestStatus === 'PARTIAL_SUCCESS';
  return jsonAnswer(200, {
    requestStatusPerDestination: [
      {
        requestStatus,
        ...(errors ? { errorInfo: { errorCounts: [{ recordCount, reason }] } } : {}),
        eventsIngestionStatus: { recordCount: String(records) },
      },
    ],
  });
}
