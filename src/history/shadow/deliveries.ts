import type { StoredOpening } from '../../conversions/conversion.js';
import { settingsAsOf } from '../../delivery/courier.js';
import { foldDeliveries, resultOf } from '../../delivery/delivery.js';
import { spell } from '../../delivery/received.js';
import type { StoredEvent } from '../../log/event.js';
import { platformOf } from '../../platforms/index.js';
import type { PlatformName } from '../../platforms/platform.js';
import type { Site } from '../../sites/site.js';
import type { ShadowRules } from './rules.js';

/** A delivery in few words: `sent`, `skipped: <reason>`, or `validated` for a trial. */
export interface Fate {
  readonly status: string;
  /** Of the payload. */
  readonly bodySha256?: string | undefined;
}

/** What really became of a conversion at each platform, from its stream. Whatever was handed to a platform was sent. */
export function fatesThatWere(stream: readonly StoredEvent[]): Map<PlatformName, Fate> {
  const [first] = stream;
  const trial = first?.type === 'conversion.received.v1' && first.data.trial;
  return new Map(
    foldDeliveries(stream).map(({ platform, last, bodySha256 }) => {
      const { status, reason } = resultOf(last, trial);
      const isOwn = status === 'skipped' || (status === 'failed' && bodySha256 === undefined);
      const told = status === 'validated' ? status : isOwn ? `${status}: ${reason}` : 'sent';
      return [platform, { status: told, bodySha256 }];
    }),
  );
}

/** What would have become of it under the rules: spelled by the platform's own code, and sent nowhere. */
export function fatesThatWouldBe(received: StoredOpening, site: Site, rules: ShadowRules): Map<PlatformName, Fate> {
  const { platforms, settings: pinned, trial, consent } = received.data;
  const connected = site.connections.filter(({ disconnected }) => !disconnected).map(({ platform }) => platform);
  const fates = new Map<PlatformName, Fate>();
  for (const name of platforms ?? connected) {
    const platform = platformOf(name);
    const connection = site.connections.find((candidate) => candidate.platform === name);
    if (!platform || !connection) continue;
    if (consent === 'denied' && site.settings.withhold === 'everything') {
      fates.set(name, { status: 'skipped: consent_denied' });
      continue;
    }
    const settings = changed(settingsAsOf(connection, pinned ?? received.position), rules.settings[name] ?? {});
    const spelled = spell(received, platform, settings, undefined);
    if ('skip' in spelled) fates.set(name, { status: `skipped: ${spelled.skip}` });
    else fates.set(name, { status: trial ? 'validated' : 'sent', bodySha256: spelled.bodySha256 });
  }
  return fates;
}

function changed(settings: Readonly<Record<string, string>>, changes: Readonly<Record<string, string>>) {
  const next = { ...settings, ...changes };
  for (const [name, value] of Object.entries(changes)) if (value === '') delete next[name];
  return next;
}
