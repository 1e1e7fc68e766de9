import type { StoredOpening } from '../../conversions/conversion.js';
import { type Delivery, foldDeliveries, resultOf } from '../../delivery/delivery.js';
import { buildPayload, settingsAsOf } from '../../delivery/payload/payload.js';
import type { ReceivedConversion } from '../../delivery/received-conversion.js';
import type { StoredEvent } from '../../log/event.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import { platformOf } from '../../platforms/index.js';
import { asOfIn } from '../../sites/connections/connection.js';
import type { Site } from '../../sites/site.js';
import type { ShadowRules } from './shadow-rules.js';

/** Summary of a delivery: `sent`, `skipped: <reason>`, `failed: <reason>`, or `validated` for a trial key. */
export interface DeliveryOutcome {
  readonly status: string;
  /** Digest of the payload, see `bodyDigest` of `payload.ts`. */
  readonly bodySha256?: string | undefined;
  /** What earlier attempts and requests of an operator changed in the payload. */
  readonly terms?: Pick<Delivery, 'eventId' | 'payloadVersion' | 'without'>;
}

/** The outcomes in a conversion's stream. A delivery counts as sent unless it was skipped, or failed without a payload. */
export function recordedOutcomes(stream: readonly StoredEvent[]): Map<ConnectionName, DeliveryOutcome> {
  const [first] = stream;
  const trial = first?.type === 'conversion.received.v1' && first.data.trial;
  return new Map(
    foldDeliveries(stream).map(({ platform, last, bodySha256, eventId, payloadVersion, without }) => {
      const { status, reason } = resultOf(last, trial);
      const isUnsent = status === 'skipped' || (status === 'failed' && bodySha256 === undefined);
      const summary = status === 'validated' ? status : isUnsent ? `${status}: ${reason}` : 'sent';
      return [platform, { status: summary, bodySha256, terms: { eventId, payloadVersion, without } }];
    }),
  );
}

/**
 * The outcome that the conversion would have under the rules. Payloads are built by the platforms' code and not sent, without what
 * the platform has refused: the rules do not tell whether it would refuse it again.
 */
export function simulatedOutcomes(
  received: StoredOpening & Pick<ReceivedConversion, 'order'>,
  site: Site,
  rules: ShadowRules,
  recorded: ReadonlyMap<ConnectionName, DeliveryOutcome>,
): Map<ConnectionName, DeliveryOutcome> {
  const { platforms, trial } = received.data;
  const { withhold } = { ...site.settings, ...rules.site };
  const connected = site.connections.filter(({ disconnected }) => !disconnected).map(({ platform }) => platform);
  const outcomes = new Map<ConnectionName, DeliveryOutcome>();
  for (const name of platforms ?? connected) {
    const platform = platformOf(name);
    const connection = site.connections.find((candidate) => candidate.platform === name);
    if (!platform || !connection) continue;
    const settings = applyChanges(
      settingsAsOf(connection, asOfIn(received.data) ?? { settings: received.position }),
      rules.settings[name] ?? {},
    );
    const { terms } = recorded.get(name) ?? {};
    const payload = buildPayload(received, platform, settings, { ...terms, platform: name, withhold });
    if ('skip' in payload) outcomes.set(name, { status: `skipped: ${payload.skip}` });
    else outcomes.set(name, { status: trial ? 'validated' : 'sent', bodySha256: payload.bodySha256 });
  }
  return outcomes;
}

function applyChanges(settings: Readonly<Record<string, string>>, changes: Readonly<Record<string, string>>) {
  const next = { ...settings, ...changes };
  for (const [name, value] of Object.entries(changes)) if (value === '') delete next[name];
  return next;
}
