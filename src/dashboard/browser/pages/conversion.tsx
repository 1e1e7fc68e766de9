import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, dataOf } from '../api.js';
import { Badge, StatusBadge } from '../components/badge.js';
import { CopyText } from '../components/copy.js';
import { Dialog } from '../components/dialog.js';
import { Page, Panel } from '../components/panel.js';
import { Empty, Show } from '../components/states.js';
import { Time } from '../components/time.js';
import { attempt } from '../components/toasts.js';
import {
  amountOf,
  type ConversionHistory,
  conversionStory,
  type Delivery,
  isDelivered,
  isUnsettled,
} from '../conversion-story.js';
import { repeatedCurlLine } from '../curl-line.js';
import { connectionTitle, counted, formatDuration } from '../format.js';
import { pathOf } from '../navigation.js';
import { mayWrite, type Site, useSession } from '../session.js';
import { useData, useInterval } from '../use-data.js';

/** How often a conversion that is being delivered is read again. */
const WAITING_MS = 2_000;

/** One conversion: what happened to it, and each of its deliveries with attempts, payload and answer. */
export function Conversion({ site, id }: { site: Site; id: string }) {
  const { localUrl } = useSession();
  const [isCopying, setCopying] = useState(false);
  const path = { site: site.host, id };
  const history = useData(`conversion ${site.host} ${id}`, () =>
    dataOf(api.GET('/api/v1/sites/{site}/conversions/{id}', { params: { path } })),
  );
  const isWaiting = history.data?.deliveries.some(({ status }) => isUnsettled(status)) === true;
  useInterval(history.reload, WAITING_MS, isWaiting);
  const conversion = history.data?.conversion;
  return (
    <Page
      title={conversion?.orderId ?? `Conversion ${id.slice(-12)}`}
      note={history.data && <Summary history={history.data} />}
      actions={
        <>
          <button type="button" onClick={history.reload}>
            Refresh
          </button>
          {conversion && (
            <button type="button" onClick={() => setCopying(true)}>
              Copy as curl
            </button>
          )}
        </>
      }
    >
      <Show of={history}>
        {(data) => (
          <div class="two">
            <Story history={data} />
            <Deliveries site={site.host} history={data} />
          </div>
        )}
      </Show>
      {isCopying && conversion && (
        <Dialog title="The request, with placeholders" onClose={() => setCopying(false)}>
          <p>The key and the email address are not stored in readable form: replace both.</p>
          <CopyText label="Request" text={repeatedCurlLine(site.host, conversion, localUrl)} />
          <div class="buttons">
            <button type="button" class="primary" onClick={() => setCopying(false)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </Page>
  );
}

function Summary({ history: { conversion, deliveries } }: { history: ConversionHistory }) {
  const sent = deliveries.filter(({ status }) => isDelivered(status)).length;
  const amount = amountOf(conversion);
  return (
    <>
      <Badge>{amount === undefined ? conversion.event : `${conversion.event} · ${amount}`}</Badge>{' '}
      {conversion.status === 'received' ? (
        deliveries.length > 0 && (
          <Badge tone={sent === deliveries.length ? 'ok' : 'warn'}>
            delivered to {sent} of {deliveries.length}
          </Badge>
        )
      ) : (
        <StatusBadge status={conversion.status} />
      )}
    </>
  );
}

function Story({ history }: { history: ConversionHistory }) {
  return (
    <Panel title="What happened">
      <ol class="story">
        {conversionStory(history).map(({ time, title, text, tone, facts }) => (
          <li key={title} class={tone}>
            <div class="when">{time !== undefined && <Time time={time} />}</div>
            <div>
              <strong>{title}</strong> <span class="dim">{text}</span>
              {facts.length > 0 && (
                <dl class="facts">
                  {facts.map(([name, value]) => (
                    <div key={name}>
                      <dt>{name}</dt>
                      <dd>{value}</dd>
                    </div>
                  ))}
                </dl>
              )}
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function Deliveries({ site, history }: { site: string; history: ConversionHistory }) {
  const { user } = useSession();
  const { deliveries, masked, conversion } = history;
  return (
    <Panel title="Deliveries" note={masked && 'personal values are masked for your role'}>
      {deliveries.length === 0 && (
        <Empty title="Not delivered to any platform">
          None was connected when it was received, or it was not counted.
        </Empty>
      )}
      {deliveries.map((delivery) => (
        <DeliveryDetails key={delivery.platform} delivery={delivery}>
          {mayWrite(user) && <SendAgain site={site} conversion={conversion.conversionId} delivery={delivery} />}
        </DeliveryDetails>
      ))}
    </Panel>
  );
}

interface SendAgainProps {
  site: string;
  conversion: string;
  delivery: Delivery;
}

/** Starts the dry run of a replay, which is confirmed on the page of jobs. */
function SendAgain({ site, conversion, delivery: { platform, status } }: SendAgainProps) {
  const { route } = useLocation();
  const isAccepted = isDelivered(status);
  const prepare = () =>
    attempt(async () => {
      const body = { kind: 'replay' as const, platform, conversion, force: isAccepted };
      await dataOf(api.POST('/api/v1/sites/{site}/jobs', { params: { path: { site } }, body }));
      route(pathOf(site, 'history'));
      return 'A dry run counts what would be sent';
    });
  return (
    <p>
      <button type="button" onClick={() => void prepare()}>
        Send again …
      </button>{' '}
      {isAccepted && <span class="dim">The platform accepted it already and may count it twice.</span>}
    </p>
  );
}

function DeliveryDetails({ delivery, children }: { delivery: Delivery; children: ComponentChildren }) {
  const { platform, status, reason, attempts, payload, payloadIsExact } = delivery;
  const spentMs = attempts.reduce((sum, { durationMs = 0 }) => sum + durationMs, 0);
  return (
    <details class="delivery">
      <summary>
        <span>{connectionTitle(platform)}</span>
        <StatusBadge status={status} />
        <span class="dim">
          {attempts.length === 0 ? '' : `${counted(attempts.length, 'attempt')} · ${formatDuration(spentMs)}`}
        </span>
      </summary>
      {reason !== undefined && <p class="reason">{reason}</p>}
      {attempts.map((attempt) => (
        <div key={`${attempt.attempt} ${attempt.time}`}>
          <p>
            <Time time={attempt.time} /> <StatusBadge status={attempt.status} />{' '}
            <span class="dim">
              {[
                attempt.httpStatus !== undefined && `HTTP ${attempt.httpStatus}`,
                attempt.durationMs !== undefined && formatDuration(attempt.durationMs),
                attempt.reason,
              ]
                .filter(Boolean)
                .join(' · ')}
            </span>
          </p>
          {attempt.response && <CopyText label={`Answer of ${connectionTitle(platform)}`} text={attempt.response} />}
        </div>
      ))}
      {payload !== undefined && (
        <>
          <p class="dim">
            Payload {payloadIsExact === true ? '(exactly as sent)' : payloadIsExact === false ? '(rebuilt)' : ''}
          </p>
          <CopyText label={`Payload for ${connectionTitle(platform)}`} text={JSON.stringify(payload, null, 2)} />
        </>
      )}
      {children}
    </details>
  );
}
