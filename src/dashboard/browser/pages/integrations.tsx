import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, dataOf, problemOf } from '../api.js';
import { Badge } from '../components/badge.js';
import { Confirm } from '../components/forms/confirm.js';
import { Page } from '../components/panel.js';
import { ProblemNote, Show } from '../components/states.js';
import { Time } from '../components/time.js';
import { attempt, toast } from '../components/toasts.js';
import { connectionTitle } from '../format.js';
import { useData } from '../hooks/use-data.js';
import { changeDialog, leaveDialog, openDialog, useDialog } from '../hooks/use-dialog.js';
import { useFinishedSignIn } from '../hooks/use-finished-sign-in.js';
import { withQuery } from '../navigation.js';
import { mayWrite, type Site, useSession } from '../session.js';
import {
  type Connection,
  connectionNamed,
  connectionState,
  fieldTitle,
  isOnSandbox,
  orderedConnections,
  type Platform,
  withoutCommands,
} from '../views/connection-view.js';
import { AddConnection } from './add-connection.js';
import { ConnectDialog } from './connect-dialog.js';

interface Loaded {
  readonly platforms: readonly Platform[];
  readonly connections: readonly Connection[];
}

/** A card per platform, with its state in the platform's own words. */
export function Integrations({ site }: { site: Site }) {
  const params = { path: { site: site.host } };
  const loaded = useData<Loaded>(`connections ${site.host}`, async () => {
    const [platforms, connections] = await Promise.all([
      dataOf(api.GET('/api/v1/platforms')),
      dataOf(api.GET('/api/v1/sites/{site}/connections', { params })),
    ]);
    return { platforms: platforms.items, connections: connections.items };
  });
  const { user } = useSession();
  const { path, query, route } = useLocation();
  const dialog = useDialog();
  const [signedIn, setSignedIn] = useState<{ connection: string; signIn: string }>();
  const finished = useFinishedSignIn(site.host, (connection, signIn) => setSignedIn({ connection, signIn }));
  // The list of what needs attention links here with the connection. With a sign-in, the platform has sent the browser back.
  const asked = query['sign-in'] === undefined ? query['connection'] : undefined;
  const connecting = mayWrite(user) ? (signedIn?.connection ?? asked) : undefined;
  const disconnecting = dialog.opened === 'disconnect' && mayWrite(user) ? dialog.item : undefined;
  const adding = dialog.opened === 'add' && mayWrite(user) ? dialog.item : undefined;
  const closeSettings = () => {
    setSignedIn(undefined);
    leaveDialog(route, path);
  };
  return (
    <Page title="Integrations" note={`Where the conversions of ${site.host} are delivered`}>
      <ProblemNote problem={finished} />
      <Show of={loaded}>
        {({ platforms, connections }) => {
          const edited = connectionNamed(connecting, connections, platforms);
          const isConnected = connections.some(({ platform, connected }) => platform === disconnecting && connected);
          return (
            <>
              <div class="cards">
                {orderedConnections(connections).map((connection) => (
                  <ConnectionCard
                    key={connection.platform}
                    site={site.host}
                    connection={connection}
                    onChanged={loaded.reload}
                    onConnect={() => openDialog(route, withQuery(path, { connection: connection.platform }))}
                    onAdd={() => dialog.open('add', connection.platform)}
                    onDisconnect={() => dialog.open('disconnect', connection.platform)}
                  />
                ))}
              </div>
              {adding !== undefined && platforms.some(({ platform }) => platform === adding) && (
                <AddConnection
                  platform={adding}
                  taken={connections.filter(({ connected }) => connected).map(({ platform }) => platform)}
                  onNamed={(connection) => changeDialog(route, withQuery(path, { connection }))}
                  onClose={dialog.close}
                />
              )}
              {edited && (
                <ConnectDialog
                  key={edited.platform}
                  site={site.host}
                  connection={edited}
                  platform={platforms.find(({ platform }) => platform === edited.platform.split(':')[0])}
                  signIn={signedIn?.signIn}
                  onClose={closeSettings}
                  onConnected={loaded.reload}
                />
              )}
              {disconnecting !== undefined && isConnected && (
                <Confirm
                  title={`Disconnect ${connectionTitle(disconnecting)}?`}
                  verb="Disconnect"
                  onClose={dialog.close}
                  onConfirm={async () => {
                    const path = { site: site.host, connection: disconnecting };
                    await dataOf(api.DELETE('/api/v1/sites/{site}/connections/{connection}', { params: { path } }));
                    loaded.reload();
                  }}
                >
                  Conversions are no longer sent there, and its credentials are deleted. Queued conversions are not
                  sent.
                </Confirm>
              )}
            </>
          );
        }}
      </Show>
    </Page>
  );
}

interface CardProps {
  site: string;
  connection: Connection;
  onChanged(): void;
  onConnect(): void;
  /** Connects the same platform once more. */
  onAdd(): void;
  onDisconnect(): void;
}

function ConnectionCard({ site, connection, onChanged, onConnect, onAdd, onDisconnect }: CardProps) {
  const { user, sandboxUrl } = useSession();
  const { platform, connected, state, reason, next, since, settings, needsReconnection } = connection;
  const title = connectionTitle(platform);
  const [tone, words] = connectionState(connection);
  const path = { params: { path: { site, connection: platform } } };
  const change = (verb: 'pause' | 'resume') =>
    attempt(async () => {
      await dataOf(
        verb === 'pause'
          ? api.POST('/api/v1/sites/{site}/connections/{connection}/pause', path)
          : api.POST('/api/v1/sites/{site}/connections/{connection}/resume', path),
      );
      onChanged();
      return verb === 'pause' ? `${title} is paused; conversions are queued` : `${title} sends again`;
    });
  const test = () =>
    attempt(async () => {
      const answer = await dataOf(api.POST('/api/v1/sites/{site}/connections/{connection}/test', path));
      if (!answer.ok) throw new Error(`${title}: ${answer.reason ?? answer.status}. ${answer.fix ?? ''}`);
      return `${title} works${answer.sent ? ': a conversion was accepted in test mode' : ''}`;
    });
  /** A sign-in at the platform renews the credentials, and the connection sends again. */
  const reconnect = async () => {
    try {
      const { url } = await dataOf(api.POST('/api/v1/sites/{site}/connections/{connection}/sign-in', path));
      location.assign(url);
    } catch (error) {
      toast(problemOf(error).detail, 'bad');
    }
  };
  const shown = Object.entries(settings).filter(([, value]) => value !== true);
  const step = withoutCommands(next);
  return (
    <section class={`panel card ${connected ? '' : 'off'}`} aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        <span>
          {isOnSandbox(connection, sandboxUrl) && <Badge tone="wait">sandbox</Badge>}
          <Badge tone={tone}>{words}</Badge>
        </span>
      </div>
      {reason !== undefined && (
        <p class="reason">
          <code>{reason}</code>
        </p>
      )}
      {step !== undefined && <p class="dim">{step}</p>}
      {connected && (
        <dl class="facts">
          {shown.slice(0, 4).map(([name, value]) => (
            <div key={name}>
              <dt>{fieldTitle(name)}</dt>
              <dd title={String(value)}>{value}</dd>
            </div>
          ))}
          {since !== undefined && (
            <div>
              <dt>Since</dt>
              <dd>
                <Time time={since} as="day" />
              </dd>
            </div>
          )}
        </dl>
      )}
      {mayWrite(user) && (
        <div class="buttons">
          {!connected && (
            <button type="button" onClick={onConnect}>
              Connect <span class="hidden">{title}</span>
            </button>
          )}
          {connected && (
            <>
              {needsReconnection && (
                <button type="button" class="primary" onClick={() => void reconnect()}>
                  Reconnect
                </button>
              )}
              {state !== 'active' && (
                <button type="button" class={needsReconnection ? '' : 'primary'} onClick={() => void change('resume')}>
                  Resume
                </button>
              )}
              <button type="button" onClick={() => void test()}>
                Test
              </button>
              <button type="button" onClick={onConnect}>
                Edit
              </button>
              {state === 'active' && (
                <button type="button" onClick={() => void change('pause')}>
                  Pause
                </button>
              )}
              {!platform.includes(':') && (
                <button type="button" class="quiet" onClick={onAdd}>
                  Add another
                </button>
              )}
              <button type="button" class="quiet" onClick={onDisconnect}>
                Disconnect
              </button>
            </>
          )}
        </div>
      )}
    </section>
  );
}
