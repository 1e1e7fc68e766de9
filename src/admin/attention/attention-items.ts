import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import type { ProjectionStatus } from '../../log/projections/projection-runner.js';
import type { End } from '../../outbound/reporting-window.js';
import { accessTokenExpires } from '../../platforms/credentials.js';
import { platformOf } from '../../platforms/index.js';
import { isHeldBack, type SiteConnection } from '../../sites/connections/connection.js';
import { isClosed, keyState, type Site } from '../../sites/site.js';
import { acceptanceOf, type DeliveryCounts } from '../../statistics/series.js';
import { host, time } from '../schemas.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
/** An attempt that any instance may make waits at most for the lease of one that died, and for a busy queue. */
const LATE_MAX_MS = 15 * 60_000;
/** A projection is normally behind by less than a second. */
const LAG_MAX_MS = 60_000;
/** An access token that a sign-in obtained and that is not renewed. */
const CONNECTION_EXPIRES_WITHIN_MS = 7 * DAY_MS;
const TOKEN_EXPIRES_WITHIN_MS = 14 * DAY_MS;
const CERTIFICATE_EXPIRES_WITHIN_MS = 30 * DAY_MS;
/** A platform that refuses fewer conversions than this in a day is not reported. */
const FAILURES_MIN = 5;
const ACCEPTANCE_MIN = 0.9;

/** Something that a person should look at. */
export const attentionItemSchema = z
  .object({
    kind: z.enum([
      'site_paused',
      'site_elsewhere',
      'connection_parked',
      'connection_paused',
      'connection_expiring',
      'deliveries_owed',
      'deliveries_failing',
      'consent_unknown',
      'consent_choice',
      'webhook_disabled',
      'webhook_failing',
      'key_expiring',
      'token_expiring',
      'certificate_expiring',
      'projection_parked',
      'projection_lagging',
    ]),
    severity: z.enum(['error', 'warning']).meta({
      description: 'error: something is not sent, or not up to date, until a person acts.',
    }),
    site: host.optional(),
    platform: z.string().optional().meta({ description: 'Name of the connection.' }),
    subject: z.string().optional().meta({ description: 'Id of the key or token, or name of the projection.' }),
    time: time.optional().meta({ description: 'Since when, or when it expires.' }),
    count: z.int().optional().meta({
      description:
        'Deliveries that wait (up to 10,000) or failed, failed pushes, denials of the last 30 days, or events that are not folded.',
    }),
    detail: z.string(),
    action: z
      .object({
        label: z.string(),
        method: z.enum(['GET', 'POST', 'PUT']),
        route: z.string(),
        body: z.record(z.string(), z.boolean()).optional().meta({
          description:
            'Of the request. Without it there is none, or it has to be chosen, such as the settings of a connection.',
        }),
      })
      .meta({ description: 'The request that leads to the fix. The route is below /api/v1.' }),
  })
  .meta({ id: 'AttentionItem' });

export type AttentionItem = z.output<typeof attentionItemSchema>;
type Action = AttentionItem['action'];

/** Deliveries to one connection that wait for an attempt. */
export interface Waiting {
  /** Counted up to a limit. */
  readonly count: number;
  /** When the first attempt is due. */
  readonly dueMs: number;
}

/** What is known of a site besides its settings. */
export interface SiteState {
  readonly site: Site;
  readonly waiting: ReadonlyMap<string, Waiting>;
  /** Outcomes of the last day, by connection. */
  readonly outcomes: ReadonlyMap<string, Omit<DeliveryCounts, 'acceptance'>>;
  /** What platforms refused in the last day because they do not know the consent, by connection. */
  readonly unknownConsents: ReadonlyMap<string, number>;
  /** Of visitors from Europe, in the last 30 days. */
  readonly denials: number;
  readonly lastPush: End;
  /** Database time. */
  readonly nowMs: number;
}

export function siteItems(state: SiteState): AttentionItem[] {
  const { site } = state;
  const connected = site.connections.filter(({ disconnected }) => !disconnected);
  if (site.move?.state === 'elsewhere') return [elsewhereItem(site.host, site.move.to)];
  if (isClosed(site)) return [];
  if (site.paused) return [pausedItem(site.host)];
  return [
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

function connectionItems(state: SiteState, connection: SiteConnection): AttentionItem[] {
  const { site, waiting, outcomes, unknownConsents, nowMs } = state;
  const { platform, since: time, reason } = connection;
  const route = `/sites/${site.host}/connections/${encodeURIComponent(platform)}`;
  const queued = waiting.get(platform);
  const items: AttentionItem[] = [];
  if (isHeldBack(connection)) {
    const count = queued?.count ?? 0;
    const isParked = connection.state === 'parked';
    items.push({
      kind: isParked ? 'connection_parked' : 'connection_paused',
      severity: isParked ? 'error' : 'warning',
      ...{ platform, time, count },
      detail: (isParked && platformOf(platform)?.fix?.(reason ?? '')) || (reason ?? 'Paused by an operator.'),
      action: isParked
        ? { label: 'Reconnect', method: 'PUT', route }
        : { label: 'Resume', method: 'POST', route: `${route}/resume` },
    });
  } else if (queued && nowMs - queued.dueMs > LATE_MAX_MS) {
    items.push({
      ...{ kind: 'deliveries_owed', severity: 'error', platform, count: queued.count },
      time: new Date(queued.dueMs).toISOString(),
      detail: 'Attempts are due and no instance makes them.',
      action: { label: 'Check the service', method: 'GET', route: '/health' },
    });
  }
  // A parked connection is to be reconnected anyway.
  if (connection.state !== 'parked') items.push(...expiryItems(connection, route, nowMs));
  const unknown = unknownConsents.get(platform);
  if (unknown !== undefined)
    items.push({
      ...{ kind: 'consent_unknown', severity: 'warning', platform, count: unknown },
      detail:
        'The platform refuses conversions of people whose consent it does not know. Send `consent` with each conversion, at least `ad_user_data`, or have the tag state it.',
      action: {
        ...{ label: 'Show the sync log', method: 'GET' },
        route: `/sites/${site.host}/sync-log?connection=${encodeURIComponent(platform)}`,
      },
    });
  const counts = outcomes.get(platform);
  const refused = counts ? counts.failed + counts.rejected : 0;
  const acceptance = counts ? acceptanceOf(counts) : null;
  if (refused >= FAILURES_MIN && acceptance !== null && acceptance < ACCEPTANCE_MIN) {
    items.push({
      ...{ kind: 'deliveries_failing', severity: 'warning', platform, count: refused },
      detail: `The platform accepted ${Math.floor(acceptance * 100)} % of the last 24 hours.`,
      action: {
        ...{ label: 'Show the sync log', method: 'GET' },
        route: `/sites/${site.host}/sync-log?connection=${encodeURIComponent(platform)}`,
      },
    });
  }
  return items;
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

function expiryItems({ platform, settings }: SiteConnection, route: string, nowMs: number): AttentionItem[] {
  // The day only is known, so the token may end at any time of it.
  const expiresMs = Date.parse(settings[accessTokenExpires.name] ?? '');
  if (!(expiresMs - nowMs <= CONNECTION_EXPIRES_WITHIN_MS)) return [];
  const isExpired = expiresMs + DAY_MS <= nowMs;
  return [
    {
      ...{ kind: 'connection_expiring', severity: isExpired ? 'error' : 'warning', platform },
      time: new Date(expiresMs).toISOString(),
      detail: isExpired
        ? 'The access token has expired. Sign in at the platform again: conversions are queued until then.'
        : 'The access token expires. Sign in at the platform again before then, so that no conversion has to wait.',
      action: { label: 'Reconnect', method: 'PUT', route },
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

interface ExpiringToken {
  readonly id: string;
  readonly name: string;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

export function tokenItems(tokens: readonly ExpiringToken[], nowMs: number): AttentionItem[] {
  return tokens.flatMap(({ id, name, expiresAt, revokedAt }): AttentionItem[] => {
    const leftMs = expiresAt === null || revokedAt !== null ? Number.NaN : expiresAt.getTime() - nowMs;
    if (!(leftMs > 0 && leftMs <= TOKEN_EXPIRES_WITHIN_MS)) return [];
    return [
      {
        ...{ kind: 'token_expiring', severity: 'warning', subject: id },
        time: (expiresAt as Date).toISOString(),
        detail: `The API token ${name} expires.`,
        action: { label: 'Create a token', method: 'POST', route: '/tokens' },
      },
    ];
  });
}

/** `pem`: the certificate of the service, and those of its issuers. */
export function certificateItems(pem: string | Buffer | undefined, nowMs: number): AttentionItem[] {
  if (!pem) return [];
  const validTo = new Date(new X509Certificate(pem).validTo);
  if (validTo.getTime() - nowMs > CERTIFICATE_EXPIRES_WITHIN_MS) return [];
  const isExpired = validTo.getTime() <= nowMs;
  return [
    {
      ...{ kind: 'certificate_expiring', severity: isExpired ? 'error' : 'warning', time: validTo.toISOString() },
      detail: `The certificate in TLS_CERT ${isExpired ? 'has expired' : 'expires'}. Replace it and restart the service.`,
      action: { label: 'Check the service', method: 'GET', route: '/health' },
    },
  ];
}

/** `behindSinceMs`: time of the first event that a projection has not folded. */
export function projectionItems(
  statuses: readonly ProjectionStatus[],
  behindSinceMs: ReadonlyMap<string, number>,
  nowMs: number,
): AttentionItem[] {
  return statuses.flatMap(({ name, state, lag, reason }): AttentionItem[] => {
    const sinceMs = behindSinceMs.get(name);
    const time = sinceMs === undefined ? {} : { time: new Date(sinceMs).toISOString() };
    const action: Action = { label: 'Show projections', method: 'GET', route: '/projections' };
    const of = { severity: 'error', subject: name, ...time, count: lag, action } as const;
    if (state === 'parked') return [{ ...of, kind: 'projection_parked', detail: `${name} is parked: ${reason}` }];
    if (sinceMs === undefined || nowMs - sinceMs <= LAG_MAX_MS) return [];
    const detail = state === 'rebuilding' ? `${name} is being rebuilt.` : `${name} is behind the log.`;
    return [{ ...of, kind: 'projection_lagging', severity: 'warning', detail }];
  });
}
