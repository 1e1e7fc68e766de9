/** Something that a person should look at. */
export const ATTENTION_KINDS = [
  'site_paused',
  'site_elsewhere',
  'connection_parked',
  'connection_paused',
  'connection_expiring',
  'deliveries_owed',
  'deliveries_expired',
  'deliveries_failing',
  'events_unmapped',
  'consent_unknown',
  'consent_choice',
  'no_conversions',
  'match_rate_down',
  'webhook_disabled',
  'webhook_failing',
  'key_expiring',
  'token_expiring',
  'certificate_expiring',
  'projection_parked',
  'projection_lagging',
  'alerts_failing',
] as const;

/** The worst first. */
export const SEVERITIES = ['error', 'warning'] as const;
export type Severity = (typeof SEVERITIES)[number];

export interface AttentionItem {
  readonly kind: (typeof ATTENTION_KINDS)[number];
  readonly severity: Severity;
  readonly site?: string | undefined;
  readonly platform?: string | undefined;
  readonly subject?: string | undefined;
  readonly time?: string | undefined;
  readonly count?: number | undefined;
  readonly detail: string;
  readonly action: {
    readonly label: string;
    readonly method: 'GET' | 'POST' | 'PUT';
    readonly route: string;
    readonly body?: Readonly<Record<string, boolean>> | undefined;
  };
}

export type Health = 'ok' | Severity;

/** Health is that of the worst part. */
export function healthOf(items: readonly Pick<AttentionItem, 'severity'>[]): Health {
  return SEVERITIES.find((severity) => items.some((item) => item.severity === severity)) ?? 'ok';
}

/** Errors before warnings, otherwise as they were. */
export function worstFirst<Item extends Pick<AttentionItem, 'severity'>>(items: readonly Item[]): Item[] {
  return SEVERITIES.flatMap((severity) => items.filter((item) => item.severity === severity));
}
