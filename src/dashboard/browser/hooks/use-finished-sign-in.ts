import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api } from '../api.js';
import { toast } from '../components/toasts.js';
import { connectionTitle } from '../format.js';
import { type Problem, problemOf } from '../problem.js';

/**
 * What became of a sign-in at a platform, which sends the browser back with its id in the address. Calls `onGranted` if the
 * settings of the new connection are still missing; returns why it failed.
 */
export function useFinishedSignIn(
  site: string,
  onGranted: (connection: string, signIn: string) => void,
): Problem | undefined {
  const { path, query, route } = useLocation();
  const [problem, setProblem] = useState<Problem>();
  const { connection, 'sign-in': id } = query;
  useEffect(() => {
    if (connection === undefined || id === undefined) return;
    const title = connectionTitle(connection);
    api
      .GET('/api/v1/sites/{site}/connections/{connection}/sign-in/{id}', { path: { site, connection, id } })
      .then(({ status, reason }) => {
        if (status === 'granted') onGranted(connection, id);
        else if (status === 'connected') toast(`${title} is connected`);
        else setProblem({ title: `The sign-in at ${title} did not succeed`, status: 0, detail: reason ?? status });
      })
      .catch((error) => setProblem(problemOf(error)))
      // Not again when the page is loaded again.
      .finally(() => route(path, true));
  }, [connection, id]);
  return problem;
}
