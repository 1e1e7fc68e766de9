import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, dataOf } from '../api.js';
import { TextField } from '../components/forms/field.js';
import { ProblemNote } from '../components/states.js';
import { useAction, useData } from '../hooks/use-data.js';
import { rememberAddress } from '../return-address.js';
import type { User } from '../session.js';

/** Why the sign-in provider's answer was refused, or that signing out did not reach it. */
const REFUSALS: Readonly<Record<string, string>> = {
  cancelled: 'You cancelled at the provider.',
  clock: 'The clocks of the service and of the provider differ. An administrator has to synchronise them.',
  expired: 'That took too long. Start again.',
  failed: 'The provider’s answer was not valid. Its log and that of the service say why.',
  sign_out: 'You are signed out here. Your organisation could not be reached: sign out there as well.',
  unknown_user: 'Your account has no access. Ask an administrator to add you.',
};

interface SignInProps {
  /** Who is signed in already. */
  user: User | undefined;
  /** Whether a session ended by itself. */
  hasEnded: boolean;
  onSignedIn(user: User): void;
}

/** Signs in where the address leads afterwards; with a link from `users add` it chooses a password first. */
export function SignIn({ user, hasEnded, onSignedIn }: SignInProps) {
  const { path, query, route } = useLocation();
  const [link] = useState(() => (path === '/sign-in' ? location.hash.slice(1) : ''));
  useEffect(() => {
    // A link that works once does not stay in the address or in the history of the browser.
    if (link !== '') history.replaceState(history.state, '', location.pathname);
  }, [link]);
  useEffect(() => {
    document.title = 'Sign in · Clean Conversions';
    if (user && link === '') route('/', true);
  }, [user, link, route]);
  const done = (signedIn: User) => {
    onSignedIn(signedIn);
    if (path === '/sign-in') route('/', true);
  };
  const refused = query['refused'];
  return (
    <main class="alone">
      <div class="panel sign-in">
        <span class="logo" aria-hidden="true" />
        {hasEnded && <p role="status">Your session has ended. Sign in to go on where you were.</p>}
        {link === '' ? <PasswordForm onSignedIn={done} /> : <ChoosePasswordForm link={link} onSignedIn={done} />}
        {refused !== undefined && (
          <p class="problem" role="alert">
            {REFUSALS[refused] ?? 'The sign-in was refused.'}
          </p>
        )}
      </div>
    </main>
  );
}

function PasswordForm({ onSignedIn }: { onSignedIn: (user: User) => void }) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const action = useAction();
  const { data } = useData('options', () => dataOf(api.GET('/api/v1/session/options')));
  const submit = (event: Event) => {
    event.preventDefault();
    void action.run(async () =>
      onSignedIn(await dataOf(api.POST('/api/v1/session', { body: { email: email.trim(), password } }))),
    );
  };
  return (
    <form onSubmit={submit}>
      <h1>Sign in</h1>
      {data?.hasUsers === false && (
        <p class="hint">
          There is no user yet. Open the link that <code>npm start</code> printed, or add the first administrator where
          the service runs, and open the link that it prints:{' '}
          <code>npx clean-conversions users add &lt;email&gt; --role admin</code>
        </p>
      )}
      <TextField
        label="Email"
        type="email"
        autocomplete="username"
        required
        autofocus
        value={email}
        onValue={setEmail}
      />
      <TextField
        label="Password"
        type="password"
        autocomplete="current-password"
        required
        value={password}
        onValue={setPassword}
      />
      <ProblemNote problem={action.problem} />
      <button type="submit" class="primary wide" disabled={action.isBusy}>
        Sign in
      </button>
      {data?.provider && (
        <a class="button wide" href="/api/v1/session/provider" target="_top" onClick={rememberAddress}>
          Sign in with your organisation
        </a>
      )}
    </form>
  );
}

function ChoosePasswordForm({ link, onSignedIn }: { link: string; onSignedIn: (user: User) => void }) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const action = useAction();
  // Only this link creates a user, who has no email address yet.
  const isFirst = link.startsWith('first_');
  const submit = (event: Event) => {
    event.preventDefault();
    const body = { link, password, ...(isFirst && { email: email.trim() }) };
    void action.run(async () => onSignedIn(await dataOf(api.POST('/api/v1/session/password', { body }))));
  };
  return (
    <form onSubmit={submit}>
      <h1>{isFirst ? 'Create the first administrator' : 'Choose a password'}</h1>
      <p class="dim">The link works once, for 24 hours.</p>
      {isFirst && (
        <TextField
          label="Email"
          type="email"
          autocomplete="username"
          required
          autofocus
          value={email}
          onValue={setEmail}
        />
      )}
      <TextField
        label="New password"
        type="password"
        autocomplete="new-password"
        required
        autofocus={!isFirst}
        minLength={12}
        help="At least 12 characters."
        value={password}
        onValue={setPassword}
      />
      <ProblemNote problem={action.problem} />
      <button type="submit" class="primary wide" disabled={action.isBusy}>
        Choose and sign in
      </button>
      {action.problem?.status === 401 && (
        <a href="/sign-in" target="_top">
          Sign in with a password
        </a>
      )}
    </form>
  );
}
