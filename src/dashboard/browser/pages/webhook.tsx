import { useState } from 'preact/hooks';
import { api, dataOf, problemOf, type Schemas } from '../api.js';
import { Badge, StatusBadge } from '../components/badge.js';
import { Confirm } from '../components/forms/confirm.js';
import { Paged } from '../components/paged.js';
import { Page, Panel } from '../components/panel.js';
import { ShownOnce } from '../components/shown-once.js';
import { Empty, Show } from '../components/states.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { attempt } from '../components/toasts.js';
import { counted, formatDuration, formatNumber } from '../format.js';
import { useData } from '../hooks/use-data.js';
import { useDialog } from '../hooks/use-dialog.js';
import { usePages } from '../hooks/use-pages.js';
import { pathOf, withQuery } from '../navigation.js';
import { mayWrite, type Site, useSession } from '../session.js';
import { SetWebhook } from './set-webhook.js';

type WebhookDocument = Schemas['Webhook'];

/** The webhook that receives the totals of the site. */
export function Webhook({ site }: { site: Site }) {
  const { user, pushEvery } = useSession();
  const params = { path: { site: site.host } };
  const webhook = useData<WebhookDocument | null>(`webhook ${site.host}`, () =>
    dataOf(api.GET('/api/v1/sites/{site}/webhook', { params })).catch((error) => {
      if (problemOf(error).status === 404) return null;
      throw error;
    }),
  );
  const { opened, open, close } = useDialog();
  const set = mayWrite(user) && (
    <button type="button" class={webhook.data ? '' : 'primary'} onClick={() => open('set')}>
      {webhook.data ? 'Change' : 'Set the webhook'}
    </button>
  );
  return (
    <Page
      title="Webhook"
      note={`Receives the totals${pushEvery === undefined ? '' : ` every ${pushEvery}`}, signed`}
      actions={webhook.data !== undefined && set}
    >
      <Show of={webhook}>
        {(data) =>
          data === null ? (
            <section class="panel">
              <Empty title="No webhook yet">
                Set the address of your system that should receive conversions and bots removed, per reporting window.
              </Empty>
            </section>
          ) : (
            <>
              <State site={site.host} webhook={data} onChanged={webhook.set} isWriter={mayWrite(user)} />
              <LatestPush push={data.lastPush} />
              <Pushes key={data.lastPush?.time} site={site.host} />
            </>
          )
        }
      </Show>
      {opened === 'set' && mayWrite(user) && (
        <SetWebhook site={site.host} onSet={() => webhook.reload()} onClose={close} />
      )}
    </Page>
  );
}

interface StateProps {
  site: string;
  webhook: WebhookDocument;
  isWriter: boolean;
  onChanged(webhook: WebhookDocument): void;
}

function State({ site, webhook, isWriter, onChanged }: StateProps) {
  const params = { path: { site } };
  const { url, enabled, reason, since } = webhook;
  const toggle = () =>
    attempt(async () => {
      const body = { enabled: !enabled };
      onChanged(await dataOf(api.PUT('/api/v1/sites/{site}/webhook/enabled', { params, body })));
      return enabled ? 'Pushing is stopped; totals are held back' : 'Totals are pushed again';
    });
  const test = () =>
    attempt(async () => {
      const answer = await dataOf(api.POST('/api/v1/sites/{site}/webhook/test', { params }));
      if (!answer.ok)
        throw new Error(`The receiver did not accept the test push: ${answer.reason ?? answer.httpStatus}`);
      return `The receiver answered ${answer.httpStatus} after ${formatDuration(answer.durationMs)}`;
    });
  const push = () =>
    attempt(async () => {
      const after = await dataOf(api.POST('/api/v1/sites/{site}/webhook/push', { params }));
      onChanged(after);
      const { lastPush } = after;
      if (lastPush?.status !== 'delivered')
        throw new Error(`The receiver did not accept the push: ${lastPush?.reason ?? 'it has no answer yet'}`);
      return `The receiver accepted ${counted(lastPush.conversions, 'conversion')}`;
    });
  const { opened, open, close } = useDialog();
  const [secret, setSecret] = useState<string>();
  const rotate = async () => {
    const after = await dataOf(api.POST('/api/v1/sites/{site}/webhook/secret', { params }));
    onChanged(after);
    setSecret(after.secret);
  };
  return (
    <Panel
      title="Receiver"
      note={<Badge tone={enabled ? 'ok' : 'warn'}>{enabled ? 'enabled' : 'disabled'}</Badge>}
      actions={
        isWriter && (
          <>
            <button type="button" onClick={() => void test()}>
              Test
            </button>
            <button type="button" onClick={() => void push()}>
              Push now
            </button>
            <button type="button" onClick={() => open('rotate')}>
              Rotate the secret
            </button>
            <button type="button" class={enabled ? 'quiet' : 'primary'} onClick={() => void toggle()}>
              {enabled ? 'Disable' : 'Enable'}
            </button>
          </>
        )
      }
    >
      <dl class="facts pad">
        <div>
          <dt>address</dt>
          <dd>
            <code>{url}</code>
          </dd>
        </div>
        {reason !== undefined && (
          <div>
            <dt>disabled because</dt>
            <dd>{reason}</dd>
          </div>
        )}
        <div>
          <dt>since</dt>
          <dd>
            <Time time={since} />
          </dd>
        </div>
      </dl>
      {opened === 'rotate' && isWriter && (
        <Confirm title="Rotate the secret?" verb="Rotate" onConfirm={rotate} onClose={close}>
          A new secret is generated. For 24 hours pushes are signed with both, so that the receiver can change to the
          new one without a gap.
        </Confirm>
      )}
      {secret !== undefined && (
        <ShownOnce
          title="The new secret of the webhook"
          note="The receiver checks signatures with it."
          label="Secret"
          secret={secret}
          onClose={() => setSecret(undefined)}
        />
      )}
    </Panel>
  );
}

function LatestPush({ push }: { push: WebhookDocument['lastPush'] }) {
  if (!push)
    return (
      <Panel title="Latest push">
        <Empty title="Nothing was pushed yet">
          The first push follows at the end of the first reporting window, also if there were no conversions.
        </Empty>
      </Panel>
    );
  const { windowStart, windowEnd, conversions, status, attempt, httpStatus, durationMs, reason, nextTry, time } = push;
  const facts: [string, preact.ComponentChildren][] = [
    [
      'window',
      <>
        <Time time={windowStart} /> – <Time time={windowEnd} />
      </>,
    ],
    ['conversions', formatNumber(conversions)],
    ['bots removed', formatNumber(push.bot_traffic_removed)],
    [status === 'pending' ? 'closed' : 'sent', <Time key="time" time={time} />],
    ['attempts', formatNumber(attempt)],
    ...(httpStatus === undefined ? [] : ([['answer', `HTTP ${httpStatus}`]] as [string, string][])),
    ...(durationMs === undefined ? [] : ([['duration', formatDuration(durationMs)]] as [string, string][])),
    ...(reason === undefined ? [] : ([['reason', reason]] as [string, string][])),
    ...(nextTry === undefined
      ? []
      : ([['next attempt', <Time key="next" time={nextTry} />]] as [string, preact.JSX.Element][])),
  ];
  return (
    <Panel title="Latest push" note={<StatusBadge status={status} />}>
      <dl class="facts pad">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}

type Line = Schemas['SyncLine'];

/** Every attempt to push totals, newest first. */
function Pushes({ site }: { site: string }) {
  const pages = usePages<Line>(`pushes ${site}`, (cursor) =>
    dataOf(
      api.GET('/api/v1/sites/{site}/sync-log', {
        params: {
          path: { site },
          query: { kind: 'push', limit: 20, ...(cursor !== undefined && { cursor }) },
        },
      }),
    ),
  );
  return (
    <Panel title="Attempts" note={<a href={withQuery(pathOf(site, 'sync-log'), { kind: 'push' })}>in the sync log</a>}>
      <Paged pages={pages} empty={<Empty title="Nothing was pushed yet" />}>
        {(lines) => (
          <Table
            label="Attempts"
            rows={lines}
            rowKey={({ position }) => position}
            columns={[
              { title: 'Time', isCode: true, cell: ({ time }) => <Time time={time} /> },
              { title: 'Outcome', cell: ({ status }) => <StatusBadge status={status} /> },
              {
                title: 'Answer',
                isText: true,
                cell: ({ reason, httpStatus }) => (
                  <span class="dim">{reason ?? (httpStatus === undefined ? '' : `HTTP ${httpStatus}`)}</span>
                ),
              },
              {
                title: 'Conversions',
                isNumber: true,
                cell: ({ payload }) => formatNumber(payload?.conversions ?? 0),
              },
              {
                title: 'Bots removed',
                isNumber: true,
                isMinor: true,
                cell: ({ payload }) => formatNumber(payload?.bot_traffic_removed ?? 0),
              },
              { title: 'Attempt', isNumber: true, isMinor: true, cell: (line) => line.attempt },
              { title: 'Duration', isNumber: true, isMinor: true, cell: (line) => formatDuration(line.durationMs) },
            ]}
          />
        )}
      </Paged>
    </Panel>
  );
}
