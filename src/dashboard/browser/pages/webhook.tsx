import { api, type Schemas } from '../api.js';
import { Badge, Button, Facts, StatusBadge, Time } from '../components/basics.js';
import { Confirm } from '../components/forms/dialog.js';
import { Empty, Page, Panel, Show } from '../components/frame.js';
import { PagedTable } from '../components/table.js';
import { attempt } from '../components/toasts.js';
import { counted, formatDuration, formatNumber } from '../format.js';
import { useData } from '../hooks/use-data.js';
import { useDialog } from '../hooks/use-dialog.js';
import { useList } from '../hooks/use-pages.js';
import { readWebhook } from '../hooks/use-site-progress.js';
import { pathOf, withQuery } from '../navigation.js';
import { type Site, useSession } from '../session.js';
import { SetWebhook, webhookSecret } from './set-webhook.js';

type WebhookDocument = Schemas['Webhook'];

/** The webhook that receives the totals of the site. */
export function Webhook({ site }: { site: Site }) {
  const { isWriter, pushEvery } = useSession();
  const webhook = useData(`webhook ${site.host}`, () => readWebhook(site.host));
  const { opened, open, close } = useDialog(isWriter);
  const set = isWriter && (
    <Button
      kind={webhook.data ? undefined : 'primary'}
      label={webhook.data ? 'Change' : 'Set the webhook'}
      onClick={() => open('set')}
    />
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
            <Panel>
              <Empty title="No webhook yet">
                Set the address of your system that should receive conversions and bots removed, per reporting window.
              </Empty>
            </Panel>
          ) : (
            <>
              <State site={site.host} webhook={data} onChanged={webhook.set} />
              <LatestPush push={data.lastPush} />
              <Pushes key={data.lastPush?.time} site={site.host} />
            </>
          )
        }
      </Show>
      {opened === 'set' && <SetWebhook site={site.host} onSet={() => webhook.reload()} onClose={close} />}
    </Page>
  );
}

interface StateProps {
  site: string;
  webhook: WebhookDocument;
  onChanged(webhook: WebhookDocument): void;
}

function State({ site, webhook, onChanged }: StateProps) {
  const { isWriter } = useSession();
  const path = { site };
  const { url, enabled, reason, since } = webhook;
  const toggle = async () => {
    onChanged(await api.PUT('/api/v1/sites/{site}/webhook/enabled', { path, body: { enabled: !enabled } }));
    return enabled ? 'Pushing is stopped; totals are held back' : 'Totals are pushed again';
  };
  const test = async () => {
    const answer = await api.POST('/api/v1/sites/{site}/webhook/test', { path });
    if (!answer.ok) throw new Error(`The receiver did not accept the test push: ${answer.reason ?? answer.httpStatus}`);
    return `The receiver answered ${answer.httpStatus} after ${formatDuration(answer.durationMs)}`;
  };
  const push = async () => {
    const after = await api.POST('/api/v1/sites/{site}/webhook/push', { path });
    onChanged(after);
    const { lastPush } = after;
    if (lastPush?.status !== 'delivered')
      throw new Error(`The receiver did not accept the push: ${lastPush?.reason ?? 'it has no answer yet'}`);
    return `The receiver accepted ${counted(lastPush.conversions, 'conversion')}`;
  };
  const { opened, open, close } = useDialog(isWriter);
  const rotate = async () => {
    const after = await api.POST('/api/v1/sites/{site}/webhook/secret', { path });
    onChanged(after);
    return webhookSecret('The new secret of the webhook', after.secret ?? '');
  };
  return (
    <Panel
      title="Receiver"
      note={<Badge tone={enabled ? 'ok' : 'warn'}>{enabled ? 'enabled' : 'disabled'}</Badge>}
      actions={
        isWriter && (
          <>
            <Button label="Test" onClick={() => attempt(test)} />
            <Button label="Push now" onClick={() => attempt(push)} />
            <Button label="Rotate the secret" onClick={() => open('rotate')} />
            <Button
              kind={enabled ? 'quiet' : 'primary'}
              label={enabled ? 'Disable' : 'Enable'}
              onClick={() => attempt(toggle)}
            />
          </>
        )
      }
    >
      <Facts
        isPadded
        rows={[
          { name: 'address', value: <code>{url}</code> },
          ...(reason === undefined ? [] : [{ name: 'disabled because', value: reason }]),
          { name: 'since', value: <Time time={since} /> },
        ]}
      />
      {opened === 'rotate' && (
        <Confirm title="Rotate the secret?" verb="Rotate" onSubmit={rotate} onClose={close}>
          A new secret is generated. For 24 hours pushes are signed with both, so that the receiver can change to the
          new one without a gap.
        </Confirm>
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
  const span = (
    <>
      <Time time={windowStart} /> – <Time time={windowEnd} />
    </>
  );
  return (
    <Panel title="Latest push" note={<StatusBadge status={status} />}>
      <Facts
        isPadded
        rows={[
          { name: 'window', value: span },
          { name: 'conversions', value: formatNumber(conversions) },
          { name: 'bots removed', value: formatNumber(push.bot_traffic_removed) },
          { name: status === 'pending' ? 'closed' : 'sent', value: <Time time={time} /> },
          { name: 'attempts', value: formatNumber(attempt) },
          { name: 'answer', value: httpStatus && `HTTP ${httpStatus}` },
          { name: 'duration', value: durationMs !== undefined && formatDuration(durationMs) },
          { name: 'reason', value: reason },
          { name: 'next attempt', value: nextTry && <Time time={nextTry} /> },
        ].filter(({ value }) => value)}
      />
    </Panel>
  );
}

/** Every attempt to push totals, newest first. */
function Pushes({ site }: { site: string }) {
  const pages = useList('/api/v1/sites/{site}/sync-log', { path: { site }, query: { kind: 'push', limit: 20 } });
  return (
    <Panel title="Attempts" note={<a href={withQuery(pathOf(site, 'sync-log'), { kind: 'push' })}>in the sync log</a>}>
      <PagedTable
        label="Attempts"
        pages={pages}
        empty={<Empty title="Nothing was pushed yet" />}
        rowKey={({ position }) => position}
        columns={[
          { title: 'Time', kind: 'code', cell: ({ time }) => <Time time={time} /> },
          { title: 'Outcome', cell: ({ status }) => <StatusBadge status={status} /> },
          {
            title: 'Answer',
            kind: 'text',
            cell: ({ reason, httpStatus }) => (
              <span class="dim">{reason ?? (httpStatus === undefined ? '' : `HTTP ${httpStatus}`)}</span>
            ),
          },
          { title: 'Conversions', kind: 'number', cell: ({ payload }) => payload?.conversions ?? 0 },
          {
            title: 'Bots removed',
            kind: 'number',
            isMinor: true,
            cell: ({ payload }) => payload?.bot_traffic_removed ?? 0,
          },
          { title: 'Attempt', kind: 'number', isMinor: true, cell: ({ attempt }) => attempt },
          { title: 'Duration', kind: 'number', isMinor: true, cell: ({ durationMs }) => formatDuration(durationMs) },
          {
            title: 'Payload',
            kind: 'text',
            cell: ({ payload }) =>
              payload && (
                <details>
                  <summary>Show</summary>
                  <pre>{JSON.stringify(payload, null, 2)}</pre>
                </details>
              ),
          },
        ]}
      />
    </Panel>
  );
}
