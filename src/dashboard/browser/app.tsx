import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, whenSignedOut } from './api.js';
import { Loading, LoadProblem, ProblemNote } from './components/frame.js';
import { attempt, Toasts, toast } from './components/toasts.js';
import { CurrentPage } from './current-page.js';
import { formatDuration } from './format.js';
import { useGet } from './hooks/use-data.js';
import { SignIn } from './pages/sign-in.js';
import { takeAddress } from './return-address.js';
import { mayWrite, type Session, SessionContext, type User } from './session.js';
import { Shell } from './shell.js';

/** Whether the dashboard is opened on the machine of the service, which then accepts conversions on localhost, too. */
const IS_LOCAL = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname);

/** A platform sent the browser back, and the service does not know for which sign-in: it cannot name the platform. */
const LOST_SIGN_IN =
  'The sign-in at the platform is not finished, and nothing was connected: it took longer than 10 minutes, was finished before, or was started in another browser. Open Integrations and sign in at the platform again.';

export function App() {
  const [user, setUser] = useState<User | null>();
  const loaded = useGet('/api/v1/session');
  const [hasEnded, setEnded] = useState(false);
  const leave = useCallback((isEnd: boolean) => {
    setUser(null);
    setEnded(isEnd);
  }, []);
  const current = user === undefined ? loaded.data : user;
  const { path } = useLocation();
  return (
    <>
      {current && path !== '/sign-in' ? (
        <SignedIn key={current.id} user={current} onSignedOut={leave} />
      ) : current === undefined && loaded.problem === undefined ? (
        <Loading />
      ) : loaded.problem && loaded.problem.status !== 401 && !user ? (
        <main class="alone">
          <ProblemNote problem={loaded.problem} retry={loaded.reload} />
        </main>
      ) : (
        <SignIn user={current ?? undefined} hasEnded={hasEnded} onSignedIn={setUser} />
      )}
      <Toasts />
    </>
  );
}

function SignedIn({ user, onSignedOut }: { user: User; onSignedOut: (isEnd: boolean) => void }) {
  const { path, query, route } = useLocation();
  useEffect(() => whenSignedOut(() => onSignedOut(true)), [onSignedOut]);
  useEffect(() => {
    const address = takeAddress();
    const isLost = path === '/' && query['sign-in'] === 'expired';
    if (isLost) toast(LOST_SIGN_IN, 'bad');
    if (path === '/' && (address !== undefined || isLost)) route(address ?? '/', true);
  }, []);
  const sites = useGet('/api/v1/sites');
  const installation = useGet('/api/v1/installation');
  const { reload } = sites;
  const session: Session = useMemo(
    () => ({
      user,
      isWriter: mayWrite(user),
      sites: sites.data?.items ?? [],
      localUrl: IS_LOCAL ? installation.data?.localUrl : undefined,
      sandboxUrl: installation.data?.sandboxUrl,
      // A problem must not keep the first page from being shown.
      cells: installation.data?.cells ?? (installation.problem && []),
      pushEvery: installation.data && formatDuration(installation.data.pushEverySeconds * 1_000),
      reloadSites: reload,
      signOut: (where) => {
        void attempt(async () => {
          await (where === 'here' ? api.DELETE('/api/v1/session') : api.DELETE('/api/v1/sessions'));
          if (user.provider) {
            location.assign('/api/v1/session/provider/sign-out');
            return 'Signing out at your organisation …';
          }
          onSignedOut(false);
          route('/');
          return where === 'here' ? 'You are signed out' : 'You are signed out in all browsers';
        });
      },
    }),
    [user, sites.data, installation.data, installation.problem, reload, onSignedOut, route],
  );
  return (
    <SessionContext.Provider value={session}>
      <Shell>
        <LoadProblem problem={sites.problem} retry={reload} />
        {sites.data ? <CurrentPage /> : !sites.problem && <Loading />}
      </Shell>
    </SessionContext.Provider>
  );
}
