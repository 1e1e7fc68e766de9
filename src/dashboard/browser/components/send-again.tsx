import { useRef, useState } from 'preact/hooks';
import { outcomeWord } from '../../../kernel/outcome-words.js';
import { api } from '../api.js';
import type { Delivery } from '../conversion-story.js';
import { connectionTitle } from '../format.js';
import { useData } from '../hooks/use-data.js';
import { type Problem, problemOf } from '../problem.js';
import { nextKey, sendAgainRequest, sendPreview } from '../views/send-again-view.js';
import { CopyText } from './basics.js';
import { Dialog, FormDialog } from './forms/dialog.js';
import { SelectField } from './forms/fields.js';
import { Show } from './frame.js';
import { SendResults, type Sent } from './send-results.js';

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
  const key = useRef<string>(crypto.randomUUID());
  const [sent, setSent] = useState<Sent>();
  const delivery = deliveries.find(({ platform }) => platform === chosen) ?? (deliveries[0] as Delivery);
  const title = connectionTitle(delivery.platform);
  const request = (dryRun: boolean) =>
    api.POST('/api/v1/sites/{site}/deliveries/retry', {
      path: { site },
      ...(!dryRun && { header: { 'Idempotency-Key': `${key.current}.${delivery.platform}` } }),
      body: { ...sendAgainRequest(conversion, delivery), dryRun },
    });
  const dryRun = useData(`send again ${conversion} ${delivery.platform} ${delivery.status}`, () => request(true));
  const preview = dryRun.data && sendPreview(dryRun.data, delivery);
  const renewKey = (problem?: Problem) => {
    key.current = nextKey(key.current, problem, () => crypto.randomUUID());
  };
  const send = async () => {
    const answer = await request(false).catch((error: unknown) => {
      renewKey(problemOf(error));
      dryRun.reload();
      throw error;
    });
    renewKey();
    if (answer.requested === 0) {
      // It may have changed since the dry run: another person sent it, or the platform was disconnected.
      dryRun.reload();
      throw new Error(`Nothing was sent to ${title}: the delivery has changed meanwhile.`);
    }
    setSent(answer);
    onSent();
    return 'replaced' as const;
  };
  if (sent)
    return (
      <Dialog title="Send again" closeLabel="Close" onClose={onClose}>
        <SendResults site={site} sent={sent} conversion={conversion} />
      </Dialog>
    );
  return (
    <FormDialog
      title="Send again"
      verb={`Send to ${title}`}
      isReady={preview?.payload !== undefined}
      onSubmit={send}
      onClose={onClose}
    >
      {deliveries.length > 1 && (
        <SelectField
          label="Platform"
          value={delivery.platform}
          options={deliveries.map(({ platform, status }) => [
            platform,
            `${connectionTitle(platform)} (${outcomeWord(status)})`,
          ])}
          onValue={onChoose}
        />
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
