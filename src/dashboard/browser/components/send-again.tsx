import { useRef } from 'preact/hooks';
import { api, dataOf, problemOf } from '../api.js';
import type { Delivery } from '../conversion-story.js';
import { connectionTitle } from '../format.js';
import { useAction, useData } from '../hooks/use-data.js';
import type { Problem } from '../problem.js';
import { nextKey, sendAgainRequest, sendPreview } from '../views/send-again-view.js';
import { CopyText } from './copy.js';
import { FormDialog } from './forms/dialog.js';
import { Show } from './states.js';
import { toast } from './toasts.js';

interface SendAgainProps {
  site: string;
  conversion: string;
  deliveries: readonly Delivery[];
  /** Name of the connection. */
  chosen: string;
  onChoose(connection: string): void;
  onSent(): void;
  onClose(): void;
}

/** Shows what would be sent before it is sent. */
export function SendAgain({ site, conversion, deliveries, chosen, onChoose, onSent, onClose }: SendAgainProps) {
  const action = useAction();
  const key = useRef<string>(crypto.randomUUID());
  const delivery = deliveries.find(({ platform }) => platform === chosen) ?? (deliveries[0] as Delivery);
  const title = connectionTitle(delivery.platform);
  const request = (dryRun: boolean) =>
    dataOf(
      api.POST('/api/v1/sites/{site}/deliveries/retry', {
        params: {
          path: { site },
          ...(!dryRun && { header: { 'Idempotency-Key': `${key.current}.${delivery.platform}` } }),
        },
        body: { ...sendAgainRequest(conversion, delivery), dryRun },
      }),
    );
  const dryRun = useData(`send again ${conversion} ${delivery.platform} ${delivery.status}`, () => request(true));
  const preview = dryRun.data && sendPreview(dryRun.data, delivery);
  const send = async () => {
    const isSent = await action.run(async () => {
      const renewKey = (problem?: Problem) => {
        key.current = nextKey(key.current, problem, () => crypto.randomUUID());
      };
      const { requested } = await request(false).catch((error: unknown) => {
        renewKey(problemOf(error));
        throw error;
      });
      renewKey();
      // It may have changed since the dry run: another person sent it, or the platform was disconnected.
      if (requested === 0) throw new Error(`Nothing was sent to ${title}: the delivery has changed meanwhile.`);
    });
    if (!isSent) return dryRun.reload();
    toast(`Sent to ${title} again`);
    onSent();
    onClose();
  };
  return (
    <FormDialog
      title="Send again"
      verb={`Send to ${title}`}
      action={action}
      isReady={preview?.payload !== undefined}
      onSubmit={() => void send()}
      onClose={onClose}
    >
      {deliveries.length > 1 && (
        <div class="field">
          <label for="send-to">Platform</label>
          <select id="send-to" value={delivery.platform} onChange={(event) => onChoose(event.currentTarget.value)}>
            {deliveries.map(({ platform, status }) => (
              <option key={platform} value={platform}>
                {connectionTitle(platform)} ({status})
              </option>
            ))}
          </select>
        </div>
      )}
      <Show of={dryRun}>
        {() =>
          preview?.payload === undefined ? (
            <p>{preview?.reason}</p>
          ) : (
            <>
              {preview.warning !== undefined && <p class="problem warn">{preview.warning}</p>}
              <p class="dim">A dry run made this payload. Nothing is sent until you confirm it.</p>
              <CopyText label={`Payload for ${title} that would be sent`} text={preview.payload} />
            </>
          )
        }
      </Show>
    </FormDialog>
  );
}
