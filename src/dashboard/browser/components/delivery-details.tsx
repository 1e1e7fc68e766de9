import { type Attempt, type AttemptView, attemptViews, type Delivery, isUnsettled } from '../conversion-story.js';
import { connectionTitle, counted, formatDuration } from '../format.js';
import { reasonText } from '../views/reason-view.js';
import { Button, CopyJson, CopyText, StatusBadge, Time } from './basics.js';

interface DeliveryDetailsProps {
  delivery: Delivery;
  isOpen: boolean;
  /** Shows the request; undefined for those who see no payloads, and of a trial, which is not sent. */
  onRequest: (() => void) | undefined;
}

/** One delivery: its attempts with the answers of the platform, and the payload. */
export function DeliveryDetails({ delivery, isOpen, onRequest }: DeliveryDetailsProps) {
  const { platform, status, reason, attempts } = delivery;
  const title = connectionTitle(platform);
  const spentMs = attempts.reduce((sum, { durationMs = 0 }) => sum + durationMs, 0);
  return (
    <details class="delivery" open={isOpen}>
      <summary>
        <span>{title}</span>
        <StatusBadge status={status} reason={reason} />
        <span class="dim">
          {attempts.length > 0 && counted(attempts.length, 'attempt')}
          {spentMs > 0 && ` · ${formatDuration(spentMs)}`}
        </span>
      </summary>
      {reason !== undefined && <p class={status === 'skipped' ? 'dim' : 'reason'}>{reasonText(reason, platform)}</p>}
      {isUnsettled(status) && <NextAttempt last={attempts.at(-1)} />}
      <ol>
        {attemptViews(attempts).map((view) => (
          <AttemptDetails key={`${view.attempt.attempt} ${view.attempt.time}`} platform={title} view={view} />
        ))}
      </ol>
      <Payload platform={title} delivery={delivery} />
      {onRequest && delivery.payload !== undefined && (
        <Button label="Request as curl" name={`Request as curl: ${title}`} onClick={onRequest} />
      )}
    </details>
  );
}

function NextAttempt({ last }: { last: Attempt | undefined }) {
  return (
    <p class="dim">
      {last?.nextTry === undefined ? 'It waits for its first attempt.' : 'Next attempt '}
      {last?.nextTry !== undefined && <Time time={last.nextTry} as="age" />}
      {last?.giveUpAt !== undefined && ', kept until '}
      {last?.giveUpAt !== undefined && <Time time={last.giveUpAt} as="day" />}
    </p>
  );
}

function AttemptDetails({ platform, view }: { platform: string; view: AttemptView }) {
  const { attempt, title, details, asksAt } = view;
  return (
    <li>
      <p>
        <strong>{title}</strong> <StatusBadge status={attempt.status} reason={attempt.reason} />{' '}
        <span class="dim">
          <Time time={attempt.time} />
          {details !== '' && ` · ${details}`}
        </span>
      </p>
      {asksAt !== undefined && (
        <p class="dim">
          {platform} has not confirmed it yet. It is asked again <Time time={asksAt} as="age" />.
        </p>
      )}
      {attempt.response && (
        <CopyText label={`Answer of ${platform}, attempt ${attempt.attempt}`} text={attempt.response} />
      )}
    </li>
  );
}

function Payload({ platform, delivery }: { platform: string; delivery: Delivery }) {
  const { payload, payloadIsExact, attempts } = delivery;
  if (payload === undefined) return null;
  const digest = attempts.findLast(({ bodySha256 }) => bodySha256 !== undefined)?.bodySha256;
  return (
    <>
      <p>
        <strong>Payload</strong>{' '}
        <span class="dim">
          {payloadIsExact ? 'exactly as sent' : 'rebuilt; what was sent differed in a detail'}
          {payloadIsExact && digest !== undefined && ` · digest ${digest.slice(0, 8)}…`}
        </span>
      </p>
      <CopyJson label={`Payload for ${platform}`} value={payload} />
    </>
  );
}
