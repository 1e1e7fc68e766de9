import type { End } from '../../outbound/reporting-window.js';
import { isClosed, keyState } from '../../sites/site.js';
import type { AttentionItem } from './attention-item.js';
import { type ConnectionsState, connectionItems } from './connection-items.js';
import { type MatchRates, matchRateItems, type Silence, silenceItems } from './conversion-items.js';

/** What is known of a site besides its settings. */
export interface SiteState extends ConnectionsState {
  /** Of visitors from Europe, in the last 30 days. */
  readonly denials: number;
  readonly lastPush: End;
  readonly silence: Silence | undefined;
  readonly matchRates: MatchRates | undefined;
}

type Action = AttentionItem['action'];

export function siteItems(state: SiteState): AttentionItem[] {
  const { site } = state;
  const connected = site.connections.filter(({ disconnected }) => !disconnected);
  if (site.move?.state === 'elsewhere') return [elsewhereItem(site.host, site.move.to)];
  if (isClosed(site)) return [];
  if (site.paused) return [pausedItem(site.host)];
  return [
    ...silenceItems(site, state.silence, state.rules),
    ...matchRateItems(site.host, state.matchRates, state.rules),
    ...connected.flatMap((connection) => connectionItems(state, connection)),
    ...(connected.length > 0 ? consentItems(state) : []),
    ...webhookItems(state),
    ...keyItems(state),
  ].map((item) => ({ ...item, site: site.host }));
}

/** The only one of its site: the others would be about what waits for its end. */
function pausedItem(site: string): AttentionItem {
  return {
    ...{ kind: 'site_paused', severity: 'warning', site },
    detail: 'Senders are asked to try again later, and nothing is sent.',
    action: { label: 'Resume', method: 'PUT', route: `/sites/${site}/pause`, body: { paused: false } },
  };
}

function elsewhereItem(site: string, cell: string): AttentionItem {
  return {
    ...{ kind: 'site_elsewhere', severity: 'error', site },
    detail: `Cell ${cell} has it, and this database has lost that it moved. Let its DNS name lead there.`,
    action: { label: 'Show the site', method: 'GET', route: `/sites/${site}` },
  };
}

/** A site that has not chosen what is withheld. The flags of platforms are made for states of the US. */
function consentItems({ site: { host, settings }, denials }: SiteState): AttentionItem[] {
  if (denials === 0 || settings.withhold !== 'identifiers') return [];
  return [
    {
      ...{ kind: 'consent_choice', severity: 'warning', count: denials },
      detail:
        'Visitors from the EEA, the United Kingdom or Switzerland have not consented, and digests of what their orders say about them still go to platforms. Withhold everything personal: set `withhold` to `personal`.',
      action: { label: 'Show the settings', method: 'GET', route: `/sites/${host}` },
    },
  ];
}

function webhookItems({ site: { host, webhook }, lastPush }: SiteState): AttentionItem[] {
  if (!webhook) return [];
  const route = `/sites/${host}/webhook`;
  if (!webhook.enabled) {
    if (webhook.reason === undefined) return [];
    const action: Action = { label: 'Enable', method: 'PUT', route: `${route}/enabled`, body: { enabled: true } };
    return [{ kind: 'webhook_disabled', severity: 'error', time: webhook.since, detail: webhook.reason, action }];
  }
  if (lastPush?.type !== 'outbound.failed.v1') return [];
  const { failingSince, failures, reason } = lastPush.data;
  const action: Action = { label: 'Test', method: 'POST', route: `${route}/test` };
  return [
    { kind: 'webhook_failing', severity: 'warning', time: failingSince, count: failures, detail: reason, action },
  ];
}

/** Keys that another one replaced and that are still accepted. */
function keyItems({ site: { host, keys }, nowMs }: SiteState): AttentionItem[] {
  return keys.flatMap((key): AttentionItem[] => {
    const { id, name, prefix, rotation } = key;
    if (!rotation || keyState(key, nowMs) !== 'active') return [];
    return [
      {
        ...{ kind: 'key_expiring', severity: 'warning', subject: id, time: rotation.expiresAt },
        detail: `The key ${name} (${prefix}…) was replaced. Senders that still use it are refused from then on.`,
        action: { label: 'Show keys', method: 'GET', route: `/sites/${host}/keys` },
      },
    ];
  });
}
