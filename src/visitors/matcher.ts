import type { Client, QueryConfig } from 'pg';
import { type WithheldReason } from '../events/conversion.events.js';
import { type SiteSettings } from '../events/site.events.js';
import { type BotVerdict, type ConsentState } from '../events/visitor.events.js';
import type { Visit } from '../platforms/conversion.js';
import type { Postgres } from '../postgres/postgres.js';
import { decideConsent } from './consent.js';
import { recordOf, type StoredIdentifiers } from './identifier-record.js';

/** The visit of the person behind a conversion, as far as consent permits its use. */
export interface Match {
  /** Absent when there was no visit or when consent withholds it. */
  readonly visit?: Visit | undefined;
  readonly consent: 'granted' | 'denied' | 'unknown';
  readonly withheld?: WithheldReason | undefined;
  readonly bot?: BotVerdict | undefined;
}

/** Identifiers and consent of one person as stored. */
export interface VisitorRecord {
  readonly identifiers: StoredIdentifiers;
  readonly consent: ConsentState | undefined | 'unreadable';
}

export function matchOf(record: VisitorRecord, settings: SiteSettings, asOfMs: number, ttlMs: number): Match {
  const { consent, withheld } = decideConsent(record.consent, settings.consentRequired);
  const { visit, bot } = recordOf(record.identifiers, asOfMs, ttlMs);
  return { consent, bot, ...(withheld ? { withheld } : { visit }) };
}

/** Whether the score reaches the site's threshold. The site's bot mode decides whether that has consequences. */
export function reachesBotThreshold(bot: BotVerdict | undefined, { botThreshold }: SiteSettings): boolean {
  return bot !== undefined && bot.score >= botThreshold;
}

/** Whether the person's conversions are filtered. */
export function isFilteredBot(bot: BotVerdict | undefined, settings: SiteSettings): boolean {
  return settings.botMode === 'enforce' && reachesBotThreshold(bot, settings);
}

const EMPTY: VisitorRecord = { identifiers: {}, consent: undefined };
const UNREADABLE: VisitorRecord = { identifiers: {}, consent: 'unreadable' };

const BATCH_MAX = 1_000;
/** Shorter than senders wait for their answer: a conversion without its click is better than a lost one. */
const TIMEOUT_MS = 2_000;

interface Lookup {
  readonly site: string;
  readonly subject: string;
  readonly resolve: (record: VisitorRecord) => void;
}

interface Row {
  /** Number of the lookup in the batch, from 1. */
  readonly n: string;
  /** Aggregated to one row per person: parsing many small rows costs more than aggregating them in PostgreSQL. */
  readonly identifiers: StoredIdentifiers | null;
  readonly consent: ConsentState | null;
}

/**
 * Looks up visitor records in batches: lookups that arrive while a query runs share the next one. Never rejects: when a
 * record cannot be read, its visit is withheld and the conversion continues without it.
 */
export class Matcher {
  private pending: Lookup[] = [];
  private running = false;
  private client: Promise<Client> | undefined;

  constructor(
    private readonly postgres: Postgres,
    private readonly warn: (error: unknown) => void,
  ) {}

  find(site: string, subject: string): Promise<VisitorRecord> {
    return new Promise((resolve) => {
      this.pending.push({ site, subject, resolve });
      if (this.running) return;
      this.running = true;
      // Deferred, so that lookups of the same event-loop turn share the query.
      setImmediate(() => void this.run());
    });
  }

  async close(): Promise<void> {
    await this.client?.then((client) => client.end()).catch(() => {});
    this.client = undefined;
  }

  private async run(): Promise<void> {
    while (this.pending.length > 0) await this.runBatch(this.pending.splice(0, BATCH_MAX));
    this.running = false;
  }

  private async runBatch(lookups: readonly Lookup[]): Promise<void> {
    try {
      const found = await this.read(lookups);
      for (const [index, { resolve }] of lookups.entries()) resolve(found.get(index + 1) ?? EMPTY);
    } catch (error) {
      this.warn(error);
      for (const { resolve } of lookups) resolve(UNREADABLE);
    }
  }

  private async read(lookups: readonly Lookup[]): Promise<Map<number, VisitorRecord>> {
    this.client ??= this.connect();
    const connecting = this.client;
    let rows: Row[];
    try {
      ({ rows } = await (await connecting).query<Row>({
        name: 'match',
        text: `SELECT q.n, i.identifiers, c.state AS consent
                 FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS q (site, subject, n)
                 LEFT JOIN LATERAL (
                   SELECT json_object_agg(kind, json_build_array(extract(epoch FROM at) * 1000, value)) AS identifiers
                     FROM cc.identifiers WHERE site = q.site AND subject = decode(q.subject, 'hex')) i ON true
                 LEFT JOIN cc.consent c ON c.site = q.site AND c.subject = decode(q.subject, 'hex')
                WHERE i.identifiers IS NOT NULL OR c.state IS NOT NULL`,
        values: [lookups.map(({ site }) => site), lookups.map(({ subject }) => subject)],
        query_timeout: TIMEOUT_MS + 500,
      } as QueryConfig));
    } catch (error) {
      if (this.client === connecting) this.client = undefined;
      // Not awaited, because a frozen server would not answer.
      void connecting.then((client) => client.end()).catch(() => {});
      throw error;
    }
    return new Map(rows.map((row) => [Number(row.n), toRecord(row)] as const));
  }

  private connect(): Promise<Client> {
    return this.postgres.connect('match', {
      // The prepared plan may date from when the tables were empty. Index lookups only, so that it never scans a table.
      enable_seqscan: 'off',
      enable_hashjoin: 'off',
      enable_mergejoin: 'off',
      statement_timeout: `${TIMEOUT_MS}ms`,
    });
  }
}

function toRecord({ identifiers, consent }: Row): VisitorRecord {
  return { identifiers: identifiers ?? {}, consent: consent ?? undefined };
}
