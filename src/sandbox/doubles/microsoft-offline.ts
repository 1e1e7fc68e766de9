import { credentialFailure, isJsonContentType, jsonAnswer, receivedItem } from '../answers.js';
import * as check from '../checks.js';
import type { FailureAnswers, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { DAY_MS, isNumber, isObject, isText, listIn, MINUTE_MS, objectOf, parseJson, textOf } from '../values.js';
import { CLICK_ID } from './microsoft-capi.js';

export const APPLY_PATH = '/CampaignManagement/v13/OfflineConversions/Apply';

const CONVERSIONS_MAX = 1_000;
const AGE_MAX_MS = 90 * DAY_MS;
const AHEAD_MAX_MS = 5 * MINUTE_MS;
const UTC_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const ACCOUNT = /^\d+$/;

/** A Microsoft error; clients interpret its number. */
interface ApplyError {
  readonly Code: number;
  readonly ErrorCode: string;
  readonly Message: string;
}

export function offlineAnswer(request: SandboxRequest): SandboxAnswer {
  const refusal = credentialFailure(request.headers['developertoken']);
  if (refusal) return offlineFailures[refusal](request);
  for (const header of ['customerid', 'customeraccountid']) {
    if (!ACCOUNT.test(request.headers[header] ?? '')) {
      return fault(400, 'OperationErrors', error(100, 'NullRequest', `The header ${header} is not a number.`));
    }
  }
  const body = isJsonContentType(request) ? parseJson(request.body) : undefined;
  const conversions = listIn(body, 'OfflineConversions');
  if (conversions.length === 0) {
    return fault(400, 'OperationErrors', error(5602, 'OfflineConversionsNotPassed', 'There are no conversions.'));
  }
  if (conversions.length > CONVERSIONS_MAX) {
    const tooMany = error(5601, 'OfflineConversionsLimitExceeded', `At most ${CONVERSIONS_MAX} conversions.`);
    return fault(400, 'OperationErrors', tooMany, conversions);
  }
  return partial(
    conversions,
    conversions.map((conversion) => applyErrors(conversion, request.nowMs)),
  );
}

export const offlineFailures: FailureAnswers = {
  refuse: (request) => refused('refuse', request),
  refuse_one: (request) => refused('refuse_one', request),
  throttle: () => fault(429, 'Errors', error(117, 'CallRateExceeded', 'Wait and try again.')),
  server_error: () => fault(500, 'Errors', error(0, 'InternalError', 'An internal error has occurred.')),
  unauthorized: () => fault(401, 'Errors', error(105, 'InvalidCredentials', 'Authentication failed.')),
  forbidden: () => fault(403, 'Errors', error(106, 'UserIsNotAuthorized', 'The user may not do this.')),
};

function refused(kind: 'refuse' | 'refuse_one', request: SandboxRequest): SandboxAnswer {
  const conversions = listIn(parseJson(request.body), 'OfflineConversions');
  const refusal = error(5617, 'OutsideGoalWindow', 'The conversion is outside of the window of the goal.');
  return partial(
    conversions,
    conversions.map((_, index) => (kind === 'refuse' || index === 0 ? [refusal] : [])),
  );
}

function partial(conversions: readonly unknown[], errors: readonly (readonly ApplyError[])[]): SandboxAnswer {
  const PartialErrors = errors.flatMap((ofConversion, Index) => ofConversion.map((problem) => ({ Index, ...problem })));
  const received = conversions.map((conversion, index) => receivedConversion(conversion, errors[index] ?? []));
  return jsonAnswer(200, { PartialErrors }, received);
}

function applyErrors(conversion: unknown, nowMs: number): ApplyError[] {
  if (!isObject(conversion)) return [error(5602, 'OfflineConversionIsNull', 'The conversion is not an object.')];
  const errors: ApplyError[] = [];
  const { MicrosoftClickId, HashedEmailAddress, HashedPhoneNumber, ConversionValue, ConversionCurrencyCode } =
    conversion;
  if (MicrosoftClickId === undefined && HashedEmailAddress === undefined && HashedPhoneNumber === undefined) {
    errors.push(error(5603, 'MicrosoftClickIdNotPassed', 'There is no click id and no hashed email or phone number.'));
  }
  if (MicrosoftClickId !== undefined && !(isText(MicrosoftClickId) && CLICK_ID.test(MicrosoftClickId))) {
    errors.push(error(5604, 'InvalidMicrosoftClickId', 'MicrosoftClickId is not a click id.'));
  }
  for (const name of ['HashedEmailAddress', 'HashedPhoneNumber']) {
    const problem = conversion[name] === undefined ? undefined : check.hash(conversion[name]);
    // Microsoft documents no separate number for it.
    if (problem !== undefined) errors.push(error(5604, `Invalid${name}`, `${name} ${problem}`));
  }
  if (!isText(conversion['ConversionName']))
    errors.push(error(5606, 'InvalidConversionName', 'ConversionName is missing.'));
  errors.push(...timeErrors(conversion['ConversionTime'], nowMs));
  if (ConversionValue !== undefined && !(isNumber(ConversionValue) && ConversionValue >= 0)) {
    errors.push(error(5610, 'InvalidConversionValue', 'ConversionValue is not a non-negative number.'));
  }
  if (ConversionCurrencyCode !== undefined && check.currency(ConversionCurrencyCode) !== undefined) {
    errors.push(error(5611, 'InvalidCurrencyCode', 'ConversionCurrencyCode is not a currency.'));
  }
  return errors;
}

function timeErrors(time: unknown, nowMs: number): ApplyError[] {
  if (time === undefined) return [error(5607, 'ConversionTimeNotPassed', 'ConversionTime is missing.')];
  const timeMs = isText(time) && UTC_TIME.test(time) ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(timeMs)) return [error(5608, 'InvalidConversionTime', 'ConversionTime is not a time in UTC.')];
  if (check.age(timeMs, { nowMs, aheadMaxMs: AHEAD_MAX_MS }) !== undefined) {
    return [error(5614, 'FutureConversionTime', 'ConversionTime is in the future.')];
  }
  return check.age(timeMs, { nowMs, ageMaxMs: AGE_MAX_MS }) === undefined
    ? []
    : [error(5609, 'ConversionNotInWindow', 'ConversionTime is older than 90 days.')];
}

/** A conversion has no id: person, goal and time are its key. */
function receivedConversion(conversion: unknown, errors: readonly ApplyError[]): ReceivedItem {
  const { MicrosoftClickId, HashedEmailAddress, HashedPhoneNumber, ConversionName, ConversionTime } =
    objectOf(conversion);
  const eventId = `${textOf(MicrosoftClickId ?? HashedEmailAddress ?? HashedPhoneNumber)} ${textOf(ConversionTime)}`;
  const problems = errors.map(({ Message }) => Message);
  const dedupKey = `${textOf(ConversionName)} ${eventId}`;
  return receivedItem(conversion, {
    eventId,
    event: ConversionName,
    problems,
    accepted: errors.length === 0,
    dedupKey,
  });
}

function error(Code: number, ErrorCode: string, Message: string): ApplyError {
  return { Code, ErrorCode, Message };
}

function fault(
  status: number,
  kind: 'Errors' | 'OperationErrors',
  problem: ApplyError,
  conversions: readonly unknown[] = [],
): SandboxAnswer {
  const received = conversions.map((conversion) => receivedConversion(conversion, [problem]));
  return jsonAnswer(status, { TrackingId: 'sandbox', [kind]: [problem] }, received);
}
