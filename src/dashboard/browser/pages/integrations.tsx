import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { MANIFESTS } from '../../../platforms/manifests.js';
import { isOnSandbox } from '../../../platforms/on-sandbox.js';
import { api, clock } from '../api.js';
import { Badge, Button, Facts, Time } from '../components/basics.js';
import { Confirm } from '../components/forms/dialog.js';
import { LoadProblem, Page, ProblemNote, Show } from '../components/frame.js';
import { PlatformMark } from '../components/platform-mark.js';
import { attempt, toast } from '../components/toasts.js';
import { connectionTitle, formatNumber } from '../format.js';
import { useAttention } from '../hooks/use-attention.js';
import { useData, useGet } from '../hooks/use-data.js';
import { changeDialog, leaveDialog, openDialog, useDialog } from '../hooks/use-dialog.js';
import { useFinishedSignIn } from '../hooks/use-finished-sign-in.js';
import { useLive } from '../hooks/use-live.js';
import { withQuery } from '../navigation.js';
import { problemOf } from '../problem.js';
import { type Site, useSession } from '../session.js';
import { CHANGING } from '../stream/changing-types.js';
import { onceForButton } from '../used-button.js';
import {
  type AttentionItem,
  attentionDetail,
  attentionTitle,
  connectionHealth,
  itemsAt,
} from '../views/attention-view.js';
import { type TestView, testView } from '../views/connection-test-view.js';
import {
  type Connection,
  connectedNames,
  connectionNamed,
  orderedConnections,
  withoutCommands,
} from '../views/connection-view.js';
import { type PlatformRow, periodsOf, platformRows } from '../views/overview-view.js';
import { AddConnection } from './add-connection.js';
import { ConnectDialog } from './connect-dialog.js';

/** A card per platform, with its state in the platform's own words. */
export function Integrations({ site: { host } }: { site: Site }) {
  const platforms = useGet('/api/v1/platforms');
  const loaded = useData(`connections ${host}`, async () => {
    const site = { site: host };
    const { from, to, interval } = periodsOf('1', clock.nowMs()).now;
    // Before the connections, which are then at least as new as their position.
    const [series, waiting] = await Promise.all([
      api.GET('/api/v1/sites/{site}/series', { path: site, query: { from, to, interval } }),
      api.GET('/api/v1/sites/{site}/deliveries/waiting', { path: site }),
    ]);
    const { items: connections } = await api.GET('/api/v1/sites/{site}/connections', { path: site });
    const rows = platformRows(series, connectedNames(connections), waiting.items);
    return { connections, rows, position: Math.min(series.asOf.position, waiting.asOf.position) };
  });
  useLive(host, CHANGING.connections, loaded, ({ position }) => position);
  const { isWriter } = useSession();
  const { items } = useAttention();
  const { path, query, route } = useLocation();
  const dialog = useDialog(isWriter);
  const [signedIn, setSignedIn] = useState<{ connection: string; signIn: string }>();
  const finished = useFinishedSignIn(host, (connection, signIn) => setSignedIn({ connection, signIn }));
  // The list of what needs attention links here with the connection. With a sign-in, the platform has sent the browser back.
  const asked = query['sign-in'] === undefined ? query['connection'] : undefined;
  const connecting = isWriter ? (signedIn?.connection ?? asked) : undefined;
  const disconnecting = dialog.opened === 'disconnect' ? dialog.item : undefined;
  const adding = dialog.opened === 'add' ? dialog.item : undefined;
  const closeSettings = () => {
    setSignedIn(undefined);
    leaveDialog(route, path);
  };
  return (
    <Page title="Integrations" note={`Where the conversions of ${host} are delivered`}>
      <ProblemNote problem={finished} />
      <LoadProblem problem={platforms.problem} retry={platforms.reload} />
      <Show of={loaded}>
        {({ connections, rows }) => {
          const known = platforms.data?.items ?? [];
          const edited = platforms.data && connectionNamed(connecting, connections, known);
          const connected = connectedNames(connections);
          return (
            <>
              <div class="cards">
                {orderedConnections(connections, (platform) => itemsAt(items, host, platform)).map((connection) => (
                  <ConnectionCard
                    key={connection.platform}
                    site={host}
                    connection={connection}
                    lastDay={rows.find(({ platform }) => platform === connection.platform)}
                    onChanged={loaded.reload}
                    onConnect={() => openDialog(route, withQuery(path, { connection: connection.platform }))}
                    onAdd={() => dialog.open('add', connection.platform)}
                    onDisconnect={() => dialog.open('disconnect', connection.platform)}
                  />
                ))}
              </div>
              {adding !== undefined && known.some(({ platform }) => platform === adding) && (
                <AddConnection
                  platform={adding}
                  taken={connected}
                  onNamed={(connection) => changeDialog(route, withQuery(path, { connection }))}
                  onClose={dialog.close}
                />
              )}
              {edited && (
                <ConnectDialog
                  key={edited.platform}
                  site={host}
                  connection={edited}
                  platform={known.find(({ platform }) => platform === edited.platform.split(':')[0])}
                  signIn={signedIn?.signIn}
                  onClose={closeSettings}
                  onConnected={loaded.reload}
                />
              )}
              {disconnecting !== undefined && connected.includes(disconnecting) && (
                <Confirm
                  title={`Disconnect ${connectionTitle(disconnecting)}?`}
                  verb="Disconnect"
                  onClose={dialog.close}
                  onSubmit={async () => {
                    const of = { site: host, connection: disconnecting };
                    await api.DELETE('/api/v1/sites/{site}/connections/{connection}', { path: of });
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

/** What the state and its reason say already. */
const OF_STATE: readonly AttentionItem['kind'][] = ['connection_parked', 'connection_paused'];

interface CardProps {
  site: string;
  connection: Connection;
  lastDay: PlatformRow | undefined;
  onChanged(): void;
  onConnect(): void;
  /** Connects the same platform once more. */
  onAdd(): void;
  onDisconnect(): void;
}

function ConnectionCard(props: CardProps) {
  const { isWriter, sandboxUrl } = useSession();
  const { connection, lastDay } = props;
  const [tested, setTested] = useState<TestView>();
  const { platform, connected, reason, next, since } = connection;
  const title = connectionTitle(platform);
  const found = itemsAt(useAttention().items, props.site, platform);
  const [tone, words] = connectionHealth(connection, found);
  const about = MANIFESTS.find(({ name }) => name === platform.split(':')[0])?.about;
  const step = withoutCommands(next);
  return (
    <section class={connected ? 'panel card' : 'panel card off'} aria-label={title}>
      <div class="panel-head">
        <PlatformMark connection={platform} />
        <h2>{title}</h2>
        <span>
          {isOnSandbox(connection, sandboxUrl) && <Badge tone="wait">sandbox</Badge>}
          <Badge tone={tone}>{words}</Badge>
        </span>
      </div>
      {about !== undefined && <p class="dim">{about}</p>}
      {reason !== undefined && (
        <p class="reason">
          <code>{reason}</code>
        </p>
      )}
      {step !== undefined && <p class="dim">{step}</p>}
      {found
        .filter(({ kind }) => !OF_STATE.includes(kind))
        .map((item) => (
          <p key={item.kind}>
            <strong>{attentionTitle(item)}.</strong> <span class="dim">{attentionDetail(item)}</span>
          </p>
        ))}
      {connected && (
        <Facts
          rows={[
            ...(lastDay ? lastDayFacts(lastDay) : []),
            ...(since === undefined ? [] : [{ name: 'Since', value: <Time time={since} as="day" /> }]),
          ]}
        />
      )}
      <div role="status">{connected && tested && <TestResult {...tested} />}</div>
      {isWriter && (
        <div class="buttons">
          {connected ? (
            <ConnectedButtons {...props} title={title} onTested={setTested} />
          ) : (
            <Button label="Connect" about={title} onClick={props.onConnect} />
          )}
        </div>
      )}
    </section>
  );
}

function lastDayFacts({ accepted, rejected, failed, queued, unconfirmed }: PlatformRow) {
  return [
    { name: 'Accepted in 24 h', value: formatNumber(accepted) },
    { name: 'Refused in 24 h', value: formatNumber(rejected + failed) },
    { name: 'Waiting', value: formatNumber(queued) },
    ...(unconfirmed > 0 ? [{ name: 'Not confirmed yet', value: formatNumber(unconfirmed) }] : []),
  ];
}

function TestResult({ tone, title, checked, said, next }: TestView) {
  return (
    <div class={`test-result ${tone}`}>
      <strong>{title}</strong>
      {said !== undefined && <code>{said}</code>}
      {checked !== undefined && <span>{checked}</span>}
      {next !== undefined && <span>{next}</span>}
    </div>
  );
}

interface ButtonsProps extends CardProps {
  title: string;
  onTested(view: TestView): void;
}

function ConnectedButtons({ site, connection, title, ...actions }: ButtonsProps) {
  const { platform, state, needsReconnection } = connection;
  const path = { site, connection: platform };
  const pause = async () => {
    await api.POST('/api/v1/sites/{site}/connections/{connection}/pause', { path });
    actions.onChanged();
    return `${title} is paused; conversions are queued`;
  };
  const resume = async () => {
    await api.POST('/api/v1/sites/{site}/connections/{connection}/resume', { path });
    actions.onChanged();
    return `${title} sends again`;
  };
  const test = () =>
    onceForButton(async () => {
      try {
        actions.onTested(testView(await api.POST('/api/v1/sites/{site}/connections/{connection}/test', { path })));
      } catch (error) {
        actions.onTested({ tone: 'bad', title: 'Not tested', said: problemOf(error).detail });
      }
    });
  /** A sign-in at the platform renews the credentials, and the connection sends again. */
  const reconnect = async () => {
    try {
      const { url } = await api.POST('/api/v1/sites/{site}/connections/{connection}/sign-in', { path });
      location.assign(url);
    } catch (error) {
      toast(problemOf(error).detail, 'bad');
    }
  };
  const isActive = state === 'active';
  return (
    <>
      {needsReconnection && <Button kind="primary" label="Reconnect" onClick={reconnect} />}
      {!isActive && (
        <Button kind={needsReconnection ? undefined : 'primary'} label="Resume" onClick={() => attempt(resume)} />
      )}
      <Button label="Test" onClick={test} />
      <Button label="Edit" onClick={actions.onConnect} />
      {isActive && <Button label="Pause" onClick={() => attempt(pause)} />}
      {!platform.includes(':') && <Button kind="quiet" label="Add another" onClick={actions.onAdd} />}
      <Button kind="quiet" label="Disconnect" onClick={actions.onDisconnect} />
    </>
  );
}
