import { receivedItem } from '../answers.js';
import * as check from '../checks.js';
import type { Memory, ReceivedItem, SandboxRequest } from '../double.js';
import { DAY_MS, isObject, isText, type JsonObject, objectOf, textOf } from '../values.js';
import {
  type Add,
  actionProblem,
  dateTimeProblem,
  orderIdProblem,
  type UploadError,
  uploadMethod,
} from './google-upload.js';

const EXPIRES_AFTER_MS = 54 * DAY_MS;
const ADJUSTMENT_FIELDS = new Set([
  ...['conversionAction', 'adjustmentType', 'orderId', 'gclidDateTimePair', 'adjustmentDateTime', 'restatementValue'],
  ...['userIdentifiers', 'userAgent'],
]);

/** What Google knows of an uploaded conversion. */
interface KnownConversion {
  readonly timeMs: number;
  readonly adjustedMs?: number;
  readonly isRetracted?: boolean;
}

export const adjustments = uploadMethod({
  path: /^\/v\d+\/customers\/\d{10}:uploadConversionAdjustments$/,
  list: 'conversionAdjustments',
  error: 'conversionAdjustmentUploadError',
  refusal: { field: 'order_id', description: 'No conversion was found.', code: 'CONVERSION_NOT_FOUND' },
  errorsOf,
  resultOf({ orderId, gclidDateTimePair, conversionAction, adjustmentDateTime, adjustmentType }) {
    return { orderId, gclidDateTimePair, conversionAction, adjustmentDateTime, adjustmentType };
  },
  receivedOf,
  accept(adjustment, memory) {
    const known = memory.get(keyOf(adjustment)) as KnownConversion;
    const isRetracted = adjustment['adjustmentType'] === 'RETRACTION';
    memory.set(keyOf(adjustment), { ...known, adjustedMs: timeOf(adjustment['adjustmentDateTime']), isRetracted });
  },
});

export function rememberConversion(conversion: JsonObject, memory: Memory): void {
  const key = keyOf(conversion);
  if (!memory.has(key)) memory.set(key, { timeMs: timeOf(conversion['conversionDateTime']) } satisfies KnownConversion);
}

function errorsOf(adjustment: unknown, request: SandboxRequest): UploadError[] {
  const errors: UploadError[] = [];
  const add: Add = (field, description, code) => {
    if (description !== undefined) errors.push({ field, description, code });
  };
  if (!isObject(adjustment)) return [{ field: '', description: 'is not an object', code: 'INVALID_ARGUMENT' }];
  for (const name of Object.keys(adjustment)) {
    if (!ADJUSTMENT_FIELDS.has(name)) add(name, 'is not a known field', 'INVALID_ARGUMENT');
  }
  const { conversionAction, adjustmentType, orderId, gclidDateTimePair, adjustmentDateTime } = adjustment;
  add('conversion_action', actionProblem(conversionAction, request.path), 'NO_CONVERSION_ACTION_FOUND');
  add('adjustment_type', check.oneOf(['RETRACTION', 'RESTATEMENT'])(adjustmentType), 'INVALID_ARGUMENT');
  add('adjustment_date_time', dateTimeProblem(adjustmentDateTime), 'INVALID_DATE_TIME');
  if (gclidDateTimePair !== undefined && orderId !== undefined)
    add('order_id', 'is set besides gclid_date_time_pair', 'GCLID_DATE_TIME_PAIR_AND_ORDER_ID_BOTH_SET');
  else if (gclidDateTimePair === undefined) add('order_id', orderIdProblem(orderId), 'ORDER_ID_CONTAINS_PII');
  checkRestatement(add, adjustment);
  if (errors.length === 0) checkConversion(add, adjustment, request);
  return errors;
}

function checkRestatement(add: Add, { adjustmentType, restatementValue }: JsonObject): void {
  if (adjustmentType !== 'RESTATEMENT') {
    if (restatementValue !== undefined) add('restatement_value', 'is not for retractions', 'VALUE_MUST_BE_UNSET');
    return;
  }
  const { adjustedValue, currencyCode, ...others } = objectOf(restatementValue);
  for (const name of Object.keys(others)) add(`restatement_value.${name}`, 'is not a known field', 'INVALID_ARGUMENT');
  add('restatement_value.adjusted_value', check.number(adjustedValue), 'INVALID_VALUE');
  if (currencyCode !== undefined)
    add('restatement_value.currency_code', check.currency(currencyCode), 'INVALID_CURRENCY');
}

/** Conversions are known by their order id only, as this service uploads them. */
function checkConversion(add: Add, adjustment: JsonObject, { memory, nowMs }: SandboxRequest): void {
  const known = memory.get(keyOf(adjustment)) as KnownConversion | undefined;
  if (!known) {
    add('order_id', 'is no conversion of this action', 'CONVERSION_NOT_FOUND');
    return;
  }
  const { timeMs, adjustedMs = Number.NEGATIVE_INFINITY, isRetracted } = known;
  const time = timeOf(adjustment['adjustmentDateTime']);
  if (isRetracted) add('order_id', 'was retracted', 'CONVERSION_ALREADY_RETRACTED');
  else if (nowMs - timeMs < DAY_MS) add('order_id', 'occurred less than a day ago', 'TOO_RECENT_CONVERSION');
  else if (nowMs - timeMs > EXPIRES_AFTER_MS) add('order_id', 'occurred too long ago', 'CONVERSION_EXPIRED');
  else if (time <= timeMs) add('adjustment_date_time', 'is before the conversion', 'ADJUSTMENT_PRECEDES_CONVERSION');
  else if (time === adjustedMs) add('adjustment_date_time', 'is not new', 'RESTATEMENT_ALREADY_EXISTS');
  else if (time < adjustedMs) add('adjustment_date_time', 'is not the newest', 'MORE_RECENT_RESTATEMENT_FOUND');
}

function receivedOf(adjustment: JsonObject, problems: readonly string[]): ReceivedItem {
  const { conversionAction, adjustmentType, orderId, adjustmentDateTime } = adjustment;
  const event = `${textOf(conversionAction).replace(/^.*\//, '')} ${textOf(adjustmentType)}`;
  const eventId = textOf(orderId);
  const dedupKey = `${event} ${eventId} ${textOf(adjustmentDateTime)}`;
  return receivedItem(adjustment, { eventId, event, problems, accepted: problems.length === 0, dedupKey });
}

function keyOf({ conversionAction, orderId }: JsonObject): string {
  return `conversion ${textOf(conversionAction)} ${isText(orderId) ? orderId : ''}`;
}

/** Time of a text such as `2026-03-01 10:15:30+00:00`. */
function timeOf(text: unknown): number {
  return Date.parse(textOf(text).replace(' ', 'T'));
}
