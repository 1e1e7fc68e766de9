import { X509Certificate } from 'node:crypto';
import { counted } from '../../kernel/counted.js';
import type { ProjectionStatus } from '../../log/projections/projection-runner.js';
import type { AttentionItem } from './attention-item.js';
import type { AlertRules } from './rules.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
/** A projection is normally behind by less than a second. */
export const LAG_MAX_MS = 60_000;
const CERTIFICATE_EXPIRES_WITHIN_MS = 30 * DAY_MS;

interface ExpiringToken {
  readonly id: string;
  readonly name: string;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

export function tokenItems(
  tokens: readonly ExpiringToken[],
  { tokenExpiryDays }: AlertRules,
  nowMs: number,
): AttentionItem[] {
  return tokens.flatMap(({ id, name, expiresAt, revokedAt }): AttentionItem[] => {
    const leftMs = expiresAt === null || revokedAt !== null ? Number.NaN : expiresAt.getTime() - nowMs;
    if (!(leftMs > 0 && leftMs <= tokenExpiryDays * DAY_MS)) return [];
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

/** A channel of alerts to which a message waits after several attempts, or was given up. */
export interface FailingChannel {
  readonly channel: string;
  /** Messages. */
  readonly count: number;
  readonly since: Date;
  readonly reason: string;
}

export function channelItems(channels: readonly FailingChannel[]): AttentionItem[] {
  return channels.map(({ channel, count, since, reason }) => ({
    ...{ kind: 'alerts_failing', severity: 'warning', subject: channel, count, time: since.toISOString() },
    detail: `${counted(count, 'alert')} could not be sent: ${reason}.`,
    action: { label: 'Test', method: 'POST', route: `/alerts/channels/${channel}/test` },
  }));
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
    const action: AttentionItem['action'] = { label: 'Show projections', method: 'GET', route: '/projections' };
    const of = { severity: 'error', subject: name, ...time, count: lag, action } as const;
    if (state === 'parked') return [{ ...of, kind: 'projection_parked', detail: `${name} is parked: ${reason}` }];
    if (sinceMs === undefined || nowMs - sinceMs <= LAG_MAX_MS) return [];
    const detail = state === 'rebuilding' ? `${name} is being rebuilt.` : `${name} is behind the log.`;
    return [{ ...of, kind: 'projection_lagging', severity: 'warning', detail }];
  });
}
