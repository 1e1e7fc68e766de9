interface Answered {
  readonly response: Pick<Response, 'status' | 'headers'>;
}

/** Sends a request again, once, if the service has too much to do: after the time that its answer names. */
export async function retryOnce<Answer extends Answered>(
  request: () => Promise<Answer>,
  pause: (ms: number) => Promise<void>,
): Promise<Answer> {
  const answer = await request();
  const { status, headers } = answer.response;
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  if (status !== 429 || !Number.isFinite(seconds)) return answer;
  await pause(seconds * 1_000);
  return request();
}

/** Rejects as soon as the request is no longer needed. */
export function pauseUntil(signal: AbortSignal): (ms: number) => Promise<void> {
  return (ms) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    });
}
