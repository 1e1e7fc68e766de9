import { isJsonContentType, jsonAnswer } from '../answers.js';
import * as check from '../checks.js';
import type { FailureAnswers, Memory, ReceivedItem, SandboxAnswer, SandboxRequest } from '../double.js';
import { isObject, isText, type JsonObject, listIn, objectOf, parseJson } from '../values.js';

const ITEMS_MAX = 2_000;
const PATH = /^\/v(\d+)\/customers\/(\d{10}):/;
const DATE_TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d$/;
export const DIGITS = /^\d+$/;

/** A problem of one item, with Google's error code. */
export interface UploadError {
  readonly field: string;
  readonly description: string;
  readonly code: string;
}

export type Add = (field: string, description: string | undefined, code: string) => void;

/** What differs between the upload methods of the Google Ads API. */
interface UploadMethodOptions {
  readonly path: RegExp;
  /** The field of the request that contains the items. */
  readonly list: string;
  /** The kind of errors of an item. */
  readonly error: string;
  /** The error when the sandbox is told to refuse. */
  readonly refusal: UploadError;
  errorsOf(item: unknown, request: SandboxRequest): UploadError[];
  resultOf(item: JsonObject): object;
  receivedOf(item: JsonObject, problems: readonly string[]): ReceivedItem;
  /** Records an item without errors for later requests. */
  accept?(item: JsonObject, memory: Memory): void;
}

export interface UploadMethod {
  readonly path: RegExp;
  readonly failures: FailureAnswers;
  answer(request: SandboxRequest): SandboxAnswer;
}

export function uploadMethod(options: UploadMethodOptions): UploadMethod {
  const { path, list, refusal } = options;
  const refuse = (request: SandboxRequest, isRefused: (index: number) => boolean) => {
    const items = listIn(parseJson(request.body), list);
    return uploaded(
      request,
      items,
      items.map((_, index) => (isRefused(index) ? [refusal] : [])),
      options,
    );
  };
  return {
    path,
    answer: (request) => uploadAnswer(request, options),
    failures: {
      refuse: (request) => refuse(request, () => true),
      refuse_one: (request) => refuse(request, (index) => index === 0),
      throttle: (request) =>
        googleAdsError(request, 429, 'RESOURCE_EXHAUSTED', { quotaError: 'RESOURCE_TEMPORARILY_EXHAUSTED' }),
      server_error: (request) => googleAdsError(request, 503, 'UNAVAILABLE', { internalError: 'TRANSIENT_ERROR' }),
      unauthorized: (request) =>
        googleAdsError(request, 401, 'UNAUTHENTICATED', { authenticationError: 'OAUTH_TOKEN_INVALID' }),
      forbidden: (request) =>
        googleAdsError(request, 403, 'PERMISSION_DENIED', { authorizationError: 'USER_PERMISSION_DENIED' }),
    },
  };
}

export function actionProblem(action: unknown, path: string): string | undefined {
  const prefix = `customers/${PATH.exec(path)?.[2]}/conversionActions/`;
  const isOwn = isText(action) && action.startsWith(prefix) && DIGITS.test(action.slice(prefix.length));
  return isOwn ? undefined : 'is not a conversion action of this customer';
}

export function dateTimeProblem(time: unknown): string | undefined {
  return isText(time) && DATE_TIME.test(time) ? undefined : 'is not yyyy-MM-dd HH:mm:ss+HH:MM';
}

export function orderIdProblem(orderId: unknown): string | undefined {
  return check.text(orderId) ?? ((orderId as string).includes('@') ? 'contains an email address' : undefined);
}

function uploadAnswer(request: SandboxRequest, options: UploadMethodOptions): SandboxAnswer {
  const manager = request.headers['login-customer-id'];
  if (manager !== undefined && !DIGITS.test(manager))
    return invalidArgument(request, 'login-customer-id is not digits', [], options);
  const body = isJsonContentType(request) ? parseJson(request.body) : undefined;
  const items = isObject(body) ? body[options.list] : undefined;
  if (!isObject(body) || !Array.isArray(items))
    return invalidArgument(request, `${options.list} is not a list`, [], options);
  const problem = envelopeProblem(body, items, options.list);
  if (problem !== undefined) return invalidArgument(request, problem, items, options);
  const errors = items.map((item: unknown) => options.errorsOf(item, request));
  if (body['validateOnly'] === true) return jsonAnswer(200, partialFailure(request, errors, options));
  items.forEach((item: unknown, index) => {
    if (errors[index]?.length === 0) options.accept?.(objectOf(item), request.memory);
  });
  return uploaded(request, items, errors, options);
}

function envelopeProblem(body: JsonObject, items: readonly unknown[], list: string): string | undefined {
  if (body['partialFailure'] !== true) return 'partialFailure must be true';
  if (items.length === 0) return `${list} is empty`;
  return items.length > ITEMS_MAX ? `${list} has more than ${ITEMS_MAX} entries` : undefined;
}

function uploaded(
  request: SandboxRequest,
  items: readonly unknown[],
  errors: readonly (readonly UploadError[])[],
  options: UploadMethodOptions,
): SandboxAnswer {
  const results = items.map((item, index) =>
    isObject(item) && errors[index]?.length === 0 ? options.resultOf(item) : {},
  );
  const answer = { ...partialFailure(request, errors, options), results, jobId: '1' };
  return jsonAnswer(200, answer, receivedItems(items, errors, options));
}

/** Empty when no item failed. */
function partialFailure(
  request: SandboxRequest,
  errors: readonly (readonly UploadError[])[],
  { list, error }: UploadMethodOptions,
): object {
  const failures = errors.flatMap((ofOne, index) =>
    ofOne.map(({ field, description, code }) => ({
      errorCode: { [code === 'CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE' ? 'notAllowlistedError' : error]: code },
      message: `${field} ${description}, at ${list}[${index}].${field}`,
      location: { fieldPathElements: [{ fieldName: list, index }, { fieldName: field }] },
    })),
  );
  if (failures.length === 0) return {};
  return {
    partialFailureError: {
      code: 3,
      message: failures[0]?.message ?? '',
      details: [{ '@type': failureType(request), errors: failures, requestId: 'sandbox' }],
    },
  };
}

function receivedItems(
  items: readonly unknown[],
  errors: readonly (readonly UploadError[])[],
  { receivedOf }: UploadMethodOptions,
): ReceivedItem[] {
  return items.map((item, index) =>
    receivedOf(
      objectOf(item),
      (errors[index] ?? []).map(({ field, description }) => `${field} ${description}`),
    ),
  );
}

function invalidArgument(
  request: SandboxRequest,
  message: string,
  items: readonly unknown[],
  options: UploadMethodOptions,
): SandboxAnswer {
  const errors = items.map(() => [{ field: 'request', description: message, code: 'INVALID_ARGUMENT' }]);
  const answer = googleAdsError(request, 400, 'INVALID_ARGUMENT', { requestError: 'INVALID_INPUT' }, message);
  return { ...answer, received: receivedItems(items, errors, options) };
}

export function googleAdsError(
  request: SandboxRequest,
  code: number,
  status: string,
  errorCode: Readonly<Record<string, string>>,
  message = 'The request was refused.',
): SandboxAnswer {
  const details = [{ '@type': failureType(request), errors: [{ errorCode, message }], requestId: 'sandbox' }];
  return jsonAnswer(code, { error: { code, status, message, details } });
}

function failureType({ path }: SandboxRequest): string {
  return `type.googleapis.com/google.ads.googleads.v${PATH.exec(path)?.[1]}.errors.GoogleAdsFailure`;
}
