/** RFC 9457, as the API answers errors. The status is 0 if no answer came. */
export interface Problem {
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
}

/** The problem of an answer; one made from the status if a proxy answered in another form. */
export function toProblem(status: number, body: unknown): Problem {
  if (isProblem(body)) return body;
  const detail =
    status >= 500 ? 'The service or a proxy before it has an error. Try again.' : 'The request was refused.';
  return { title: `HTTP ${status}`, status, detail };
}

export function unreachable(): Problem {
  return {
    title: 'No connection',
    status: 0,
    detail: 'The service cannot be reached. Check that it runs and that this device is online, then try again.',
  };
}

/** What is wrong with one field of a form. Fields of the API are named by their path: `settings.pixel_id`. */
export function fieldError(problem: Problem | undefined, field: string): string | undefined {
  return problem?.errors?.find((error) => error.field === field)?.message;
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && typeof (body as Problem).detail === 'string';
}
