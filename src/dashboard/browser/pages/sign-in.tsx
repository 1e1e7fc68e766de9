import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api } from '../api.js';
import { Form, TextField, useFields } from '../components/forms/fields.js';
import { useAction, useGet } from '../hooks/use-data.js';
import { rememberAddress } from '../return-address.js';
import type { User } from '../session.js';
import { NewPassword } from './account.js';

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

const EMPTY = { email: '', password: '' };

function PasswordForm({ onSignedIn }: { onSignedIn: (user: User) => void }) {
  const { values, field } = useFields(EMPTY);
  const { data } = useGet('/api/v1/session/options');
  const signIn = async () => {
    const body = { email: values.email.trim(), password: values.password };
    onSignedIn(await api.POST('/api/v1/session', { body }));
  };
  return (
    <>
      <h1>Sign in</h1>
      {data?.hasUsers === false && (
        <p class="hint">
          There is no user yet. Open the link that the service printed on its terminal, or run this where the service
          runs, and open the link that it prints: <code>{data.addUser}</code>
        </p>
      )}
      <Form verb="Sign in" onSubmit={signIn}>
        <EmailField {...field('email')} />
        <TextField {...field('password')} label="Password" type="password" autocomplete="current-password" required />
      </Form>
      {data?.provider && (
        <a class="button" href="/api/v1/session/provider" target="_top" onClick={rememberAddress}>
          Sign in with your organisation
        </a>
      )}
    </>
  );
}

function ChoosePasswordForm({ link, onSignedIn }: { link: string; onSignedIn: (user: User) => void }) {
  const { values, field } = useFields(EMPTY);
  const action = useAction();
  // Only this link creates a user, who has no email address yet.
  const isFirst = link.startsWith('first_');
  const choose = async () => {
    const body = { link, password: values.password, ...(isFirst && { email: values.email.trim() }) };
    onSignedIn(await api.POST('/api/v1/session/password', { body }));
  };
  return (
    <>
      <h1>{isFirst ? 'Create the first administrator' : 'Choose a password'}</h1>
      <p class="dim">The link works once, for 24 hours.</p>
      <Form verb="Choose and sign in" action={action} onSubmit={choose}>
        {isFirst && <EmailField {...field('email')} />}
        <NewPassword {...field('password')} autofocus={!isFirst} />
      </Form>
      {action.problem?.status === 401 && (
        <a href="/sign-in" target="_top">
          Sign in with a password
        </a>
      )}
    </>
  );
}

function EmailField(props: { value: string; onValue(value: string): void }) {
  return <TextField {...props} label="Email" type="email" autocomplete="username" required autofocus />;
}
