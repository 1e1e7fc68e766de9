import type { Client, QueryConfig } from 'pg';
import { type WithheldReason } from '../events/conversion.events.js';
import { type SiteSettings } from '../events/site.events.js';
import type { BotVerdict } from '../events/visitor.events.js';
import { SENDER_CLOCK_TOLERANCE_MS } from '../kernel/clock.js';
import { NEWEST_POSITION } from '../log/event-reader.js';
import type { Visit } from '../platforms/conversion.js';
import type { Postgres } from '../postgres/postgres.js';
import type { Site } from '../sites/site.js';
import { type ConsentingVisitor, decideConsent, type StoredStatement } from './consent.js';
import type { KnownSubjects } from './known-subjects.js';
import { type PersonVisitor, type Seen, type StoredIdentifier, unionOf, visitorsOf } from './person.js';
import { type LookedUpPerson, mergedRecord, UNREADABLE, type VisitorRecord } from './visitor-record.js';

/** The visit of the person behind a conversion, as far as consent and bot verdicts permit its use. */
export interface Match {
  /** Absent when there was no visit or when consent withholds it. */
  readonly visit?: Visit | undefined;
  readonly consent: 'granted' | 'denied' | 'unknown';
  readonly withheld?: WithheldReason | undefined;
  /** Consent to personalised advertising; undefined if it is not known. */
  readonly personalization?: 'granted' | 'denied' | undefined;
  /** Verdict on the newest visitor that is not a bot, or on the newest bot if all are. */
  readonly bot?: BotVerdict | undefined;
  /** Every visitor of the person is judged a bot. */
  readonly isBot?: true | undefined;
  /** Number of visitors whose identifiers are withheld because of their bot verdict. */
  readonly botVisitors?: number | undefined;
}

/** Stands for the visitors that were not read. They may have granted nothing. */
const UNREAD_VISITOR: ConsentingVisitor = { id: 'unread', visit: {} };

/**
 * The match of a conversion when it is received. One that occurred earlier gets no click after it occurred, and nothing of a
 * visitor that the service saw only afterwards.
 */
export function matchAtReceipt(
  record: VisitorRecord,
  settings: SiteSettings,
  nowMs: number,
  ttlMs: number,
  occurredAt: string | undefined,
): Match {
  if (occurredAt === undefined) return matchOf(record, settings, nowMs, ttlMs);
  const occurredMs = Math.min(Date.parse(occurredAt), nowMs);
  const seen: Seen = { byMs: occurredMs + SENDER_CLOCK_TOLERANCE_MS, withoutLanding: true };
  return matchOf(record, settings, occurredMs, ttlMs, seen);
}

/** As of a moment; with `seen`, from what the service had seen by then. */
export function matchOf(
  record: VisitorRecord,
  settings: SiteSettings,
  asOfMs: number,
  ttlMs: number,
  seen?: Seen,
): Match {
  const isJudgedBot = ({ bot }: PersonVisitor) => reachesBotThreshold(bot, settings);
  const trustedOf = (all: readonly PersonVisitor[]) =>
    settings.botMode === 'enforce' ? all.filter((visitor) => !isJudgedBot(visitor)) : all;
  const visitors = visitorsOf(record.identifiers, asOfMs, ttlMs, seen);
  const [bots, trusted] = [visitors.filter(isJudgedBot), trustedOf(visitors)];
  const isBot = bots.length > 0 && bots.length === visitors.length;
  // Those whose visit must not be used count here as well: the others must not outvote them.
  const consenting: readonly ConsentingVisitor[] =
    seen === undefined ? trusted : trustedOf(visitorsOf(record.identifiers, asOfMs, ttlMs));
  const { consent, withheld, personalization } = decideConsent(
    record.consent,
    record.isPartial ? [...consenting, UNREAD_VISITOR] : consenting,
    settings.consentRequired,
  );
  return {
    consent,
    ...(personalization && { personalization }),
    bot: newestVerdict(isBot ? bots : visitors.filter((visitor) => !isJudgedBot(visitor))),
    ...(isBot && { isBot }),
    ...(trusted.length < visitors.length && { botVisitors: bots.length }),
    ...(withheld ? { withheld } : { visit: unionOf(trusted) }),
  };
}

function newestVerdict(visitors: readonly PersonVisitor[]): BotVerdict | undefined {
  let [newest, atMs] = [undefined as BotVerdict | undefined, Number.NEGATIVE_INFINITY];
  for (const { contributions } of visitors) {
    const verdict = contributions.get('bot');
    if (verdict && verdict.atMs > atMs) [newest, atMs] = [verdict.value as BotVerdict, verdict.atMs];
  }
  return newest;
}

/** Whether the score reaches the site's threshold. The site's bot mode decides whether that has consequences. */
export function reachesBotThreshold(bot: BotVerdict | undefined, { botThreshold }: SiteSettings): boolean {
  return bot !== undefined && bot.score >= botThreshold;
}

/** Whether the site filters conversions of bots. Bots fill in forms; they place no order that a backend confirms. */
export function filtersBots({ botMode, botFilter }: SiteSettings, orderId: string | undefined): boolean {
  return botMode === 'enforce' && (botFilter === 'all' || (botFilter === 'leads' && orderId === undefined));
}

/**
 * Bounds a lookup whatever callers of the tag have stored about a person. Denials are read before other statements, and of more
 * identifiers than this those of the visitors that count most.
 */
const IDENTIFIERS_MAX = 2_000;
const STATEMENTS_MAX = 200;

/** A row of `cc.identifiers` as a `StoredIdentifier`. */
export const IDENTIFIER = `json_build_array(encode(visitor, 'hex'), kind, extract(epoch FROM at) * 1000,
                                     extract(epoch FROM landed) * 1000, position, value)`;

const BATCH_MAX = 1_000;
/** Shorter than senders wait for their answer: a conversion without its click is better than a lost one. */
const TIMEOUT_MS = 2_000;

/**
 * How often a record is read for one decision that the log refuses as stale. After that its visit is withheld: a decision must
 * not be stored on a record from before an erasure.
 */
export const LOOKUPS_MAX = 5;

interface Lookup {
  readonly site: MatchedSite;
  readonly subject: string;
  readonly resolve: (record: VisitorRecord | Promise<VisitorRecord>) => void;
}

type MatchedSite = Pick<Site, 'host' | 'settings'>;

interface Row {
  readonly position: number;
  /** Number of the lookup in the batch, from 1; null in the only row if nothing was found. */
  readonly n: string | null;
  /** Aggregated to one row per person: parsing many small rows costs more than aggregating them in PostgreSQL. */
  readonly identifiers: readonly StoredIdentifier[] | null;
  readonly consent: readonly StoredStatement[] | null;
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
    private readonly known?: Pick<KnownSubjects, 'absentAsOf'>,
  ) {}

  /**
   * The record of a person without stored data, without a look-up; undefined if data may be stored. Only for a
   * decision that is appended as of the record's position: the log refuses it if something was stored in the meantime.
   */
  absent(site: MatchedSite, { subject, others }: LookedUpPerson): VisitorRecord | undefined {
    const position = this.known?.absentAsOf(site.host, subject);
    if (position === undefined) return undefined;
    if (others?.some((other) => this.known?.absentAsOf(site.host, other) === undefined)) return undefined;
    return { identifiers: [], consent: [], position };
  }

  find(site: MatchedSite, { subject, others }: LookedUpPerson): Promise<VisitorRecord> {
    if (!others) return this.lookUp(site, subject);
    return Promise.all([subject, ...others].map((each) => this.lookUp(site, each))).then(mergedRecord);
  }

  private lookUp(site: MatchedSite, subject: string): Promise<VisitorRecord> {
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
      const rows = await this.read(lookups);
      const empty: VisitorRecord = { identifiers: [], consent: [], position: rows[0]?.position };
      const found = new Map(rows.map((row) => [Number(row.n), toRecord(row)] as const));
      for (const [index, lookup] of lookups.entries()) {
        const record = found.get(index + 1) ?? empty;
        // Not awaited: the other lookups do not wait for it.
        lookup.resolve(record.identifiers.length < IDENTIFIERS_MAX ? record : this.readRanked(lookup, record));
      }
    } catch (error) {
      this.warn(error);
      for (const { resolve } of lookups) resolve(UNREADABLE);
    }
  }

  /** One row for each person with stored data. If there is none, one row for all. */
  private async read(lookups: readonly Lookup[]): Promise<Row[]> {
    this.client ??= this.connect();
    const connecting = this.client;
    try {
      const { rows } = await (await connecting).query<Row>({
        name: 'match',
        text: `SELECT head.position, found.* FROM (SELECT (${NEWEST_POSITION})::float8 AS position) head LEFT JOIN (
               SELECT q.n, i.identifiers, c.statements AS consent
                 FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS q (site, subject, n)
                 LEFT JOIN LATERAL (
                   SELECT json_agg(${IDENTIFIER}) AS identifiers
                     FROM (SELECT * FROM cc.identifiers WHERE site = q.site AND subject = decode(q.subject, 'hex')
                            ORDER BY position DESC LIMIT ${IDENTIFIERS_MAX}) newest) i ON true
                 LEFT JOIN LATERAL (
                   SELECT json_agg(json_build_array(encode(visitor, 'hex'), position, state)) AS statements
                     FROM (SELECT * FROM cc.consent WHERE site = q.site AND subject = decode(q.subject, 'hex')
                            ORDER BY visitor = '\\x00' DESC, denies DESC, position DESC LIMIT ${STATEMENTS_MAX}) made) c ON true
                WHERE i.identifiers IS NOT NULL OR c.statements IS NOT NULL) found ON true`,
        values: [lookups.map(({ site }) => site.host), lookups.map(({ subject }) => subject)],
        query_timeout: TIMEOUT_MS + 500,
      } as QueryConfig);
      return rows;
    } catch (error) {
      if (this.client === connecting) this.client = undefined;
      // Not awaited, because a frozen server would not answer.
      void connecting.then((client) => client.end()).catch(() => {});
      throw error;
    }
  }

  /**
   * The identifiers of the visitors that count most: people before bots, then those that the service had seen before, and each
   * in the order of `best`. So no number of calls that only state an email hides the person's own visitor.
   */
  private async readRanked({ site, subject }: Lookup, record: VisitorRecord): Promise<VisitorRecord> {
    try {
      const { rows } = await this.postgres.pool.query<{ row: StoredIdentifier }>({
        text: `SELECT ${IDENTIFIER} AS row
                 FROM (SELECT *, max((value ->> 'score')::float8) FILTER (WHERE kind = 'bot') OVER own >= $3 AS is_bot,
                              bool_or(landed IS NOT NULL) OVER own AS is_known, max(position) OVER own AS newest
                         FROM cc.identifiers WHERE site = $1 AND subject = decode($2, 'hex')
                       WINDOW own AS (PARTITION BY visitor)) ranked
                ORDER BY is_bot IS TRUE, NOT is_known, CASE WHEN is_known THEN -newest ELSE newest END LIMIT ${IDENTIFIERS_MAX}`,
        values: [site.host, subject, site.settings.botThreshold],
        query_timeout: TIMEOUT_MS,
      } as QueryConfig);
      return { ...record, identifiers: rows.map(({ row }) => row), isPartial: true };
    } catch (error) {
      this.warn(error);
      return UNREADABLE;
    }
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

function toRecord({ position, identifiers, consent }: Row): VisitorRecord {
  const isPartial = consent?.length === STATEMENTS_MAX;
  return { identifiers: identifiers ?? [], consent: consent ?? [], position, ...(isPartial && { isPartial }) };
}
