import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import { clock } from '../api.js';
import { Badge, Button, CopyText, Facts, Time } from '../components/basics.js';
import { DeliveryDetails } from '../components/delivery-details.js';
import { DeliveryRequest } from '../components/delivery-request.js';
import { Dialog } from '../components/forms/dialog.js';
import { Empty, Page, Panel, Show } from '../components/frame.js';
import { SendAgain } from '../components/send-again.js';
import { amountOf, type ConversionHistory, conversionStory, type Fact, isDelivered } from '../conversion-story.js';
import { repeatedCurlLine } from '../curl-line.js';
import { useGet, useInterval } from '../hooks/use-data.js';
import { changeDialog, leaveDialog, openDialog, useDialog } from '../hooks/use-dialog.js';
import { withQuery } from '../navigation.js';
import { type Site, useSession } from '../session.js';
import { rereadAfterMs } from '../stream/reread.js';

/** One conversion: what happened to it, step by step, and each of its deliveries with attempts, payload and answer. */
export function Conversion({ site: { host }, id }: { site: Site; id: string }) {
  const { localUrl, isWriter } = useSession();
  const { path, query, route } = useLocation();
  const dialog = useDialog();
  const history = useGet('/api/v1/sites/{site}/conversions/{id}', { path: { site: host, id } });
  const deliveries = history.data?.deliveries ?? [];
  const rereadMs = rereadAfterMs(deliveries, clock.nowMs());
  useInterval(history.reload, rereadMs ?? 0, rereadMs !== undefined);
  const sendPath = (connection: string) => withQuery(path, { ...query, send: connection });
  // What was not accepted first: that is what a person opens this page for.
  const first = deliveries.find(({ status }) => !isDelivered(status)) ?? deliveries[0];
  return (
    <Page
      title={history.data?.conversion.orderId ?? `Conversion ${id.slice(-12)}`}
      note={history.data && <Summary history={history.data} />}
      actions={
        <>
          <Button label="Refresh" onClick={history.reload} />
          {history.data && <Button label="Copy as curl" onClick={() => dialog.open('curl')} />}
          {first && isWriter && (
            <Button kind="primary" label="Send again …" onClick={() => openDialog(route, sendPath(first.platform))} />
          )}
        </>
      }
    >
      <Show of={history}>
        {(data) => (
          <div class="two">
            <Story site={host} history={data} />
            <Deliveries
              history={data}
              onRequest={isWriter ? (connection) => dialog.open('request', connection) : undefined}
            />
          </div>
        )}
      </Show>
      {query['send'] !== undefined && isWriter && deliveries.length > 0 && (
        <SendAgain
          site={host}
          conversion={id}
          deliveries={deliveries}
          chosen={query['send']}
          onChoose={(connection) => changeDialog(route, sendPath(connection))}
          onSent={history.reload}
          onClose={() => leaveDialog(route, sendPath(''))}
        />
      )}
      {dialog.opened === 'request' && dialog.item !== undefined && isWriter && (
        <DeliveryRequest site={host} id={id} connection={dialog.item} onClose={dialog.close} />
      )}
      {dialog.opened === 'curl' && history.data && (
        <Dialog title="The request, with placeholders" closeLabel="Close" onClose={dialog.close}>
          <p>The key, the email address, names and the phone number are not stored in readable form: replace them.</p>
          <CopyText label="Request" text={repeatedCurlLine(host, history.data, localUrl)} />
        </Dialog>
      )}
    </Page>
  );
}

const STATUSES = {
  received: undefined,
  deduplicated: ['plain', 'duplicate, not counted'],
  filtered: ['warn', 'filtered out, not counted'],
} as const;

function Summary({ history: { conversion, deliveries } }: { history: ConversionHistory }) {
  const sent = deliveries.filter(({ status }) => isDelivered(status)).length;
  const amount = amountOf(conversion);
  const [tone, words] = STATUSES[conversion.status] ?? [];
  return (
    <>
      {words && <Badge tone={tone}>{words}</Badge>}
      {deliveries.length > 0 && (
        <Badge tone={sent === deliveries.length ? 'ok' : 'warn'}>
          delivered to {sent} of {deliveries.length}
        </Badge>
      )}
      <Badge>{amount === undefined ? conversion.event : `${conversion.event} · ${amount}`}</Badge>
    </>
  );
}

function Story({ site, history }: { site: string; history: ConversionHistory }) {
  return (
    <Panel title="What happened">
      <ol class="story">
        {conversionStory(site, history).map(({ time, title, text, tone, facts }) => (
          <li key={title} class={tone}>
            <div class="when">{time !== undefined && <Time time={time} />}</div>
            <div>
              <strong>{title}</strong> <span class="dim">{text}</span>
              {facts.length > 0 && <Facts rows={facts.map((fact) => ({ ...fact, value: factValue(fact) }))} />}
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function factValue({ value, path, isCode, isTime }: Fact): ComponentChildren {
  if (isTime) return <Time time={value} />;
  const text = isCode ? <code>{value}</code> : value;
  return path === undefined ? text : <a href={path}>{text}</a>;
}

const NOT_SENT = {
  received: 'No platform was connected when it was received.',
  deduplicated: 'A duplicate is not sent to any platform.',
  filtered: 'A conversion that is filtered out is not sent to any platform.',
} as const;

interface DeliveriesProps {
  history: ConversionHistory;
  onRequest: ((connection: string) => void) | undefined;
}

function Deliveries({ history: { deliveries, masked, conversion }, onRequest }: DeliveriesProps) {
  return (
    <Panel title="Deliveries" note={masked && 'personal values are masked for your role'}>
      {deliveries.length === 0 && <Empty title="Not delivered to any platform">{NOT_SENT[conversion.status]}</Empty>}
      {deliveries.map((delivery, index) => (
        <DeliveryDetails
          key={delivery.platform}
          delivery={delivery}
          isOpen={index === 0}
          onRequest={onRequest && !conversion.trial ? () => onRequest(delivery.platform) : undefined}
        />
      ))}
    </Panel>
  );
}
