import { jsonAnswer } from '../answers.js';
import type { ControlRequest, Memory, SandboxAnswer, SandboxRequest } from '../double.js';
import { isText } from '../values.js';

export const STATUS_PATH = '/v1/requestStatus:retrieve';

const STATUSES = ['SUCCESS', 'PROCESSING', 'PARTIAL_SUCCESS', 'FAILED'];
const REASON_PREFIX = 'PROCESSING_ERROR_REASON_';
const REASON = /^[A-Z_]+$/;
const CONFIGURED = 'configured status';
const DESTINATION_ERROR = 'destination error';
const COUNTER = 'requests';

/**
 * The id contains the number of events, how many of them lack consent, and the conversion actions, so that no request has to be
 * stored.
 */
const REQUEST_ID = /^sandbox-(\d+)-(\d+)-(\d+)-([\d.]*)$/;

interface ConfiguredStatus {
  readonly status: string;
  readonly reason: string;
  /** Undefined: of every conversion action. */
  readonly action: string | undefined;
  left: number;
}

export function newRequestId(
  memory: Memory,
  { events, denied, actions }: { events: number; denied: number; actions: readonly string[] },
): string {
  const number = ((memory.get(COUNTER) as number | undefined) ?? 0) + 1;
  memory.set(COUNTER, number);
  return `sandbox-${number}-${events}-${denied}-${actions.join('.')}`;
}

/** The outcome of an accepted request. */
export function statusAnswer({ query, memory }: SandboxRequest): SandboxAnswer {
  const [, number, events, denied, actions = ''] = REQUEST_ID.exec(query.get('requestId') ?? '') ?? [];
  if (number === undefined || Number(number) > ((memory.get(COUNTER) as number | undefined) ?? 0)) {
    return jsonAnswer(404, { error: { code: 404, status: 'NOT_FOUND', message: 'The request id is not known.' } });
  }
  const records = Number(events);
  const configured = takeConfigured(memory);
  const requestStatusPerDestination = actions.split('.').map((action) => {
    const isConfigured = configured !== undefined && (configured.action ?? action) === action;
    const outcome = isConfigured
      ? outcomeOf(configured.status, records, configured.reason, 1)
      : outcomeOfConsent(records, Number(denied));
    return { destination: { productDestinationId: action }, ...outcome };
  });
  return jsonAnswer(200, { requestStatusPerDestination });
}

function outcomeOfConsent(records: number, denied: number): object {
  if (denied === 0) return outcomeOf('SUCCESS', records);
  return outcomeOf(
    denied === records ? 'FAILED' : 'PARTIAL_SUCCESS',
    records,
    `${REASON_PREFIX}DENIED_CONSENT`,
    denied,
  );
}

/**
 * `{"mode":"status","status":"FAILED","reason":"CLICK_NOT_FOUND","times":2}` sets the answer to the next status requests; with
 * `"action":"222"` the status of that conversion action only.
 */
export function controlStatus(request: ControlRequest, memory: Memory): string | undefined {
  if (request.mode === 'ok') {
    memory.delete(CONFIGURED);
    memory.delete(DESTINATION_ERROR);
    return undefined;
  }
  if (request.mode === 'destination') return controlDestination(request, memory);
  if (request.mode !== 'status') return 'The additional modes of google_ads are "status" and "destination".';
  const { status, reason = 'INVALID_CLICK', action, times = Number.POSITIVE_INFINITY } = request;
  if (!isText(status) || !STATUSES.includes(status)) return `"status" is one of ${STATUSES.join(', ')}.`;
  if (!isText(reason) || !REASON.test(reason)) return '"reason" is a name in upper case such as CLICK_NOT_FOUND.';
  if (typeof times !== 'number' || !(times >= 1))
    return '"times" is a number of at least 1; without it the mode does not end.';
  if (action !== undefined && !isText(action)) return '"action" is the id of a conversion action.';
  const prefixed = reason.startsWith(REASON_PREFIX) ? reason : REASON_PREFIX + reason;
  memory.set(CONFIGURED, { status, reason: prefixed, action, left: times } satisfies ConfiguredStatus);
  return undefined;
}

/** `{"mode":"destination","reason":"NOT_FOUND"}`: requests are refused for their destination. */
function controlDestination({ reason = 'INVALID_DESTINATION' }: ControlRequest, memory: Memory): string | undefined {
  if (!isText(reason) || !REASON.test(reason)) return '"reason" is a name in upper case such as INVALID_DESTINATION.';
  memory.set(DESTINATION_ERROR, reason);
  return undefined;
}

export function destinationErrorIn(memory: Memory): string | undefined {
  return memory.get(DESTINATION_ERROR) as string | undefined;
}

function takeConfigured(memory: Memory): ConfiguredStatus | undefined {
  const configured = memory.get(CONFIGURED) as ConfiguredStatus | undefined;
  if (!configured) return undefined;
  configured.left -= 1;
  if (configured.left <= 0) memory.delete(CONFIGURED);
  return configured;
}

/** Counts are 64-bit numbers, which Google writes as strings. */
function outcomeOf(requestStatus: string, records: number, reason = '', failed = 0): object {
  const recordCount = String(requestStatus === 'FAILED' ? records : failed);
  const errors = requestStatus === 'FAILED' || requestStatus === 'PARTIAL_SUCCESS';
  return {
    requestStatus,
    ...(errors ? { errorInfo: { errorCounts: [{ recordCount, reason }] } } : {}),
    eventsIngestionStatus: { recordCount: String(records) },
  };
}
