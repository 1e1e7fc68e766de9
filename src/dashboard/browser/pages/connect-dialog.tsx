import { useState } from 'preact/hooks';
import { isOnSandbox } from '../../../platforms/on-sandbox.js';
import { type Chosen, choose, listingProblems, optionsOf, pickedEvents, suggestedFor } from '../account-options.js';
import { api, type Schemas } from '../api.js';
import { Button } from '../components/basics.js';
import { FormDialog } from '../components/forms/dialog.js';
import { TextField } from '../components/forms/fields.js';
import { OptionField } from '../components/forms/option-field.js';
import { Loading, ProblemNote } from '../components/frame.js';
import { toast } from '../components/toasts.js';
import { connectionTitle, counted } from '../format.js';
import { useAction, useData } from '../hooks/use-data.js';
import { platformHelp } from '../navigation.js';
import { mayAdminister, useSession } from '../session.js';
import {
  type Connection,
  changedSettings,
  fieldTitle,
  isStored,
  type Platform,
  type PlatformField,
} from '../views/connection-view.js';

interface ConnectDialogProps {
  site: string;
  connection: Connection;
  platform: Platform | undefined;
  /** Id of a sign-in at the platform, whose tokens are used in place of secrets. */
  signIn: string | undefined;
  onConnected(): void;
  onClose(): void;
}

/** Newest conversions whose events can be picked. */
const RECEIVED = 100;
const NO_OPTIONS: Schemas['AccountOptions'] = { options: [], truncated: false };

/** Required settings first; the others are folded away. What the account has can be picked from lists. */
export function ConnectDialog({ site, connection, platform: kind, signIn, onConnected, onClose }: ConnectDialogProps) {
  const { platform, connected, settings } = connection;
  // A sign-in replaces the secrets.
  const fields = (kind?.fields ?? []).filter(({ secret }) => signIn === undefined || !secret);
  const title = connectionTitle(platform);
  const [typed, setTyped] = useState<Chosen>({});
  const [account, setAccount] = useState<string>();
  const action = useAction();
  const { sandboxUrl } = useSession();
  const path = { site, connection: platform };
  const canSignIn = kind?.hasOauthApp === true || isOnSandbox(connection, sandboxUrl);
  const isListable = kind?.signIn === true && (signIn !== undefined || connected);
  const listed = useData(`options ${site} ${platform} ${signIn} ${account}`, async () => {
    if (!isListable) return NO_OPTIONS;
    const of = account === undefined ? {} : { account };
    return signIn === undefined
      ? api.GET('/api/v1/sites/{site}/connections/{connection}/options', { path, query: of })
      : api.POST('/api/v1/sites/{site}/connections/{connection}/sign-in/{id}/options', {
          path: { ...path, id: signIn },
          body: { settings: { ...typed }, ...of },
        });
  });
  const received = useData(`received events ${site} ${isListable}`, async () => {
    if (!isListable) return [];
    const input = { path: { site }, query: { limit: RECEIVED } };
    const { items } = await api.GET('/api/v1/sites/{site}/conversions', input);
    return items.map(({ event }) => event);
  });
  const options = listed.data?.options ?? [];
  const current = (name: string) => {
    const stored = settings[name];
    return typed[name] ?? (typeof stored === 'string' ? stored : '');
  };
  const chosen: Chosen = Object.fromEntries(fields.map(({ name }) => [name, current(name)]));
  const pick = (setting: string, value: string) => {
    const option = optionsOf(options, setting.replace(/^event\..*/, 'event'), {}).find((one) => one.value === value);
    setTyped(choose(typed, setting, option, value));
    if (option?.unlisted) setAccount(value);
  };
  const eventOptions = optionsOf(options, 'event', chosen);
  const events = Object.fromEntries(
    (eventOptions.length === 0 ? [] : pickedEvents(settings, received.data ?? [])).map((event) => {
      const name = `event.${event}`;
      return [name, current(name) || suggestedFor(eventOptions, event)?.value || ''];
    }),
  );
  const save = async () => {
    const named = Object.entries(events).filter(([name, value]) => value !== (settings[name] ?? ''));
    const { secret } = await api.PUT('/api/v1/sites/{site}/connections/{connection}', {
      path,
      body: {
        settings: { ...changedSettings(fields, settings, typed), ...Object.fromEntries(named) },
        ...(signIn !== undefined && { signIn }),
      },
    });
    onConnected();
    toast(connected ? `${title} is changed` : `${title} is connected`);
    if (secret === undefined) return;
    const note = 'This secret was generated: give it to the receiver.';
    return { title: `${title} is connected`, note, label: 'Secret', secret };
  };
  const goToPlatform = async () => {
    const { url } = await api.POST('/api/v1/sites/{site}/connections/{connection}/sign-in', { path });
    location.assign(url);
  };
  const input = ({ name, secret: isSecret, required, help }: PlatformField) => {
    const isSet = isStored(connection, name);
    const label = `${fieldTitle(name)}${required ? '' : ' (optional)'}`;
    const offered = optionsOf(options, name, { ...chosen, [name]: '' });
    if (offered.length > 0)
      return (
        <OptionField
          key={name}
          label={label}
          help={help}
          required={required}
          options={offered}
          value={current(name)}
          onValue={(value) => pick(name, value)}
        />
      );
    return (
      <TextField
        key={name}
        label={label}
        name={`settings.${name}`}
        type={isSecret ? 'password' : 'text'}
        autocomplete="off"
        required={required && !isSet}
        placeholder={isSet ? 'Set. Leave empty to keep it' : ''}
        help={help}
        value={current(name)}
        onValue={(value) => setTyped({ ...typed, [name]: value })}
      />
    );
  };
  const optional = fields.filter(({ required }) => !required);
  const problems = listingProblems(options);
  return (
    <FormDialog
      title={connected ? `${title}: settings` : `Connect ${title}`}
      action={action}
      verb={connected ? 'Save' : 'Connect'}
      onSubmit={save}
      onClose={onClose}
    >
      {signIn !== undefined && (
        <p class="dim">You are signed in at {title}. Its tokens are stored when you connect it.</p>
      )}
      {kind?.signIn && signIn === undefined && (
        <p>
          <Button label={`Sign in at ${title}`} isDisabled={!canSignIn} onClick={() => action.run(goToPlatform)} />{' '}
          <span class="dim">or enter the credentials:</span>
        </p>
      )}
      {kind?.signIn && signIn === undefined && !canSignIn && <NoOauthApp platform={kind.platform} />}
      {isListable && !listed.data && !listed.problem && <Loading />}
      <ProblemNote problem={listed.problem} retry={listed.reload} />
      {fields.filter(({ required }) => required).map(input)}
      {Object.entries(events).map(([name, value]) => (
        <OptionField
          key={name}
          label={`Sent for ${name.slice('event.'.length)}`}
          options={eventOptions}
          value={value}
          onValue={(picked) => pick(name, picked)}
        />
      ))}
      {problems.length > 0 && (
        <details>
          <summary>{counted(problems.length, 'account')} could not be listed</summary>
          {problems.map((problem) => (
            <p key={problem} class="dim">
              {problem}
            </p>
          ))}
        </details>
      )}
      {listed.data?.truncated && <p class="dim">The platform has more than is listed. Enter what is missing.</p>}
      {optional.length > 0 && (
        <details open={optional.length === fields.length}>
          <summary>Optional settings</summary>
          {optional.map(input)}
        </details>
      )}
    </FormDialog>
  );
}

/** Signing in needs an app of the installation at the platform, which takes days at some of them. */
function NoOauthApp({ platform }: { platform: string }) {
  const { user } = useSession();
  return (
    <p class="dim">
      Signing in needs an OAuth app of yours at {connectionTitle(platform)}.{' '}
      <a href={platformHelp(platform)} target="_blank" rel="noreferrer">
        How to register one
      </a>
      {mayAdminister(user) ? (
        <>
          , then <a href="/settings/oauth-apps">set it here</a>.
        </>
      ) : (
        '. An administrator sets it.'
      )}
    </p>
  );
}
