/** RFC 9457, as the API answers errors. The status is 0 if no answer came. */
export interface Problem {
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
}

/** An error that the API answered, or that no answer came. */
export class RequestFailed extends Error {
  /** @param retryAfterSeconds when to try again; not a number if the answer does not say it */
  constructor(
    readonly problem: Problem,
    readonly retryAfterSeconds = Number.NaN,
  ) {
    super(problem.detail);
  }
}

/** What is shown of any error. */
export function problemOf(error: unknown): Problem {
  if (error instanceof RequestFailed) return error.problem;
  return { title: 'Error', status: 0, detail: error instanceof Error ? error.message : String(error) };
}

/** In place of the names of HTTP. */
const TITLES: Readonly<Record<number, string>> = {
  400: 'Not accepted',
  401: 'Not signed in',
  403: 'Not allowed',
  404: 'Not found',
  409: 'Not possible now',
  422: 'Not accepted',
  429: 'Too many attempts',
  500: 'Error',
  503: 'Not available now',
};

/** The problem of an answer; one made from the status if a proxy answered in another form. */
export function toProblem(status: number, body: unknown): Problem {
  if (isProblem(body)) return { ...body, title: TITLES[status] ?? body.title };
  const detail =
    status >= 500 ? 'The service or a proxy before it has an error. Try again.' : 'The request was refused.';
  return { title: `HTTP ${status}`, status, detail };
}

/** Whether an answer is that of a proxy which does not reach the service: the service describes its own. */
export function isOfProxy(status: number, body: unknown): boolean {
  return [502, 503, 504].includes(status) && !isProblem(body);
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && typeof (body as Problem).detail === 'string';
}

/** Why a request has no answer, by the error of `fetch`. */
export function noAnswer(failure: unknown): Problem {
  if (failure instanceof TypeError)
    return {
      title: 'No connection',
      status: 0,
      detail: 'The service cannot be reached. Check that it runs and that this device is online, then try again.',
    };
  if (failure instanceof Error && failure.name === 'TimeoutError')
    return {
      title: 'No answer',
      status: 0,
      detail: 'The service did not answer within 30 seconds. A change may have been made: look before you try again.',
    };
  return {
    title: 'Unreadable answer',
    status: 0,
    detail: 'Something between this page and the service changed its answer. Try again.',
  };
}

/** What is wrong with one field of a form. Fields of the API are named by their path: `settings.pixel_id`. */
export function fieldError(problem: Problem | undefined, field: string | undefined): string | undefined {
  return problem?.errors?.find((error) => error.field === field)?.message;
}
