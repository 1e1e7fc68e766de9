import { RequestFailed } from './problem.js';

/** Sends a request again, once, if the service has too much to do: after the time that its answer names. */
export async function retryOnce<Data>(
  request: () => Promise<Data>,
  pause: (ms: number) => Promise<void>,
): Promise<Data> {
  try {
    return await request();
  } catch (error) {
    if (!(error instanceof RequestFailed) || error.problem.status !== 429) throw error;
    if (!Number.isFinite(error.retryAfterSeconds)) throw error;
    await pause(error.retryAfterSeconds * 1_000);
    return request();
  }
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
