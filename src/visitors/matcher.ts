import type { Client, QueryConfig } from 'pg';
import type { Visit } from '../platforms/conversion.js';
import type { Postgres } from '../postgres/postgres.js';
import type { SiteSettings } from '../sites/site-settings.js';
import type { Judgement } from './bots/judge.js';
import { type ConsentState, decideConsent, type Withheld } from './consent.js';
import { recordOf, type StoredIdentifiers } from './identifier-record.js';

/** What is known of the person behind a conversion, as far as it may be used. */
export interface Match {
  /** Absent when there was none, and when it is withheld. */
  readonly visit?: Visit | undefined;
  readonly consent: 'granted' | 'denied' | 'unknown';
  readonly withheld?: Withheld | undefined;
  readonly bot?: Judgement | undefined;
}

/** As it stands in the tables. */
export interface Known {
  readonly identifiers: StoredIdentifiers;
  readonly consent: ConsentState | undefined | 'unreadable';
}

export function matchOf(known: Known, settings: SiteSettings, asOfMs: number, keptMs: number): Match {
  const { consent, withheld } = decideConsent(known.consent, settings.consentRequired);
  const { visit, bot } = recordOf(known.identifiers, asOfMs, keptMs);
  return { consent, bot, ...(withheld ? { withheld } : { visit }) };
}

/** Whether the site's own threshold is reached. What follows from it is for the site's mode to say. */
export function isJudgedBot(bot: Judgement | undefined, { botThreshold }: SiteSettings): boolean {
  return bot !== undefined && bot.score >= botThreshold;
}

/** Whether that keeps the person's conversions out. */
export function isFilteredBot(bot: Judgement | undefined, settings: SiteSettings): boolean {
  return settings.botMode === 'enforce' && isJudgedBot(bot, settings);
}

const NOTHING: Known = { identifiers: {}, consent: undefined };
const UNREADABLE: Known = { identifiers: {}, consent: 'unreadable' };

const ASKED_MAX = 1_000;
/** Longer than any look-up takes, and short of what a sender waits: a conversion is worth more than its click. */
const ANSWER_WITHIN_MS = 2_000;

interface Question {
  readonly site: string;
  readonly subject: string;
  readonly answer: (known: Known) => void;
}

interface Row {
  /** Which question it answers, from 1. */
  readonly n: string;
  /** One row a person: many small ones cost the reader more than it costs PostgreSQL to put them together. */
  readonly identifiers: StoredIdentifiers | null;
  readonly consent: ConsentState | null;
}

/**
 * Looks people up, all of one moment together: whatever is asked while one look-up is on its way goes out as the next
 * one. Never rejects: what cannot be read is withheld, and the conversion goes on without it.
 */
export class Matcher {
  private waiting: Question[] = [];
  private asking = false;
  private client: Promise<Client> | undefined;

  constructor(
    private readonly postgres: Postgres,
    private readonly warn: (error: unknown) => void,
  ) {}

  find(site: string, subject: string): Promise<Known> {
    return new Promise((answer) => {
      this.waiting.push({ site, subject, answer });
      if (this.asking) return;
      this.asking = true;
      // Not at once: what else this turn of the event loop brings shares the look-up.
      setImmediate(() => void this.work());
    });
  }

  async close(): Promise<void> {
    await this.client?.then((client) => client.end()).catch(() => {});
    this.client = undefined;
  }

  private async work(): Promise<void> {
    while (this.waiting.length > 0) await this.ask(this.waiting.splice(0, ASKED_MAX));
    this.asking = false;
  }

  private async ask(questions: readonly Question[]): Promise<void> {
    try {
      const found = await this.read(questions);
      for (const [index, { answer }] of questions.entries()) answer(found.get(index + 1) ?? NOTHING);
    } catch (error) {
      this.warn(error);
      for (const { answer } of questions) answer(UNREADABLE);
    }
  }

  private async read(questions: readonly Question[]): Promise<Map<number, Known>> {
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
        values: [questions.map(({ site }) => site), questions.map(({ subject }) => subject)],
        query_timeout: ANSWER_WITHIN_MS + 500,
      } as QueryConfig));
    } catch (error) {
      if (this.client === connecting) this.client = undefined;
      // Ended without waiting: the server at the other end may be frozen.
      void connecting.then((client) => client.end()).catch(() => {});
      throw error;
    }
    return new Map(rows.map((row) => [Number(row.n), knownOf(row)] as const));
  }

  private connect(): Promise<Client> {
    return this.postgres.connect('match', {
      // A plan made while the tables were empty is kept: it must look people up one by one, never read a whole table.
      enable_seqscan: 'off',
      enable_hashjoin: 'off',
      enable_mergejoin: 'off',
      statement_timeout: `${ANSWER_WITHIN_MS}ms`,
    });
  }
}

function knownOf({ identifiers, consent }: Row): Known {
  return { identifiers: identifiers ?? {}, consent: consent ?? undefined };
}
