import type { Pool } from 'pg';
import { nameOfSubject } from '../events/person-keys.js';
import type { SiteSettings } from '../events/site.events.js';
import type { ConsentState } from '../events/visitor.events.js';
import { CLICK_KINDS } from '../platforms/click-ids.js';
import { decideConsent, meaningOf, OPERATOR, UNDECIDED, UNRECOGNISED } from './consent.js';
import { IDENTIFIER, reachesBotThreshold } from './matcher.js';
import { best, type PersonVisitor, type StoredIdentifier, visitorsOf } from './person.js';
import { mergedRecord } from './visitor-record.js';

/** A person's record: the union of the visitors that identified as the person, and what each of them contributed. */
export interface ShownVisitor {
  /** Hash of the email. Absent if the person is known by something else. */
  readonly subject?: string;
  readonly clicks: Record<string, { id: string; time: string; page?: string }>;
  readonly first: unknown;
  readonly last: unknown;
  readonly visit: unknown;
  readonly bot: unknown;
  /** The statement that decides, and what all of them together mean for the person. */
  readonly consent: (ConsentState & { readonly means: string; readonly time: string; readonly by: string }) | null;
  readonly visitors: readonly {
    readonly visitor: string;
    /** When the service first saw the visitor; null if the call that identified it was the first. */
    readonly since: string | null;
    readonly seen: string;
    readonly clicks: readonly string[];
    readonly bot: unknown;
    /** The bot verdict withholds its identifiers. */
    readonly withheld: boolean;
  }[];
  /** Newest first. */
  readonly statements: readonly {
    readonly by: string;
    readonly time: string;
    readonly means: string;
    readonly consent: ConsentState;
  }[];
}

export async function showVisitor(
  pool: Pool,
  site: { readonly host: string; readonly settings: SiteSettings },
  subjects: readonly string[],
  asOfMs: number,
  ttlMs: number,
): Promise<ShownVisitor | undefined> {
  const key = [site.host, subjects.map((subject) => Buffer.from(subject, 'hex'))];
  const identifiers = await pool.query<{ of: string; row: StoredIdentifier }>(
    `SELECT encode(subject, 'hex') AS of, ${IDENTIFIER} AS row
       FROM cc.identifiers WHERE site = $1 AND subject = ANY ($2) ORDER BY position DESC, kind`,
    key,
  );
  const statements = await pool.query<{ of: string; speaker: string; at: Date; position: string; state: ConsentState }>(
    `SELECT encode(subject, 'hex') AS of, encode(visitor, 'hex') AS speaker, at, position, state FROM cc.consent
      WHERE site = $1 AND subject = ANY ($2) ORDER BY position DESC`,
    key,
  );
  if (identifiers.rows.length + statements.rows.length === 0) return undefined;
  const { settings } = site;
  const record = mergedRecord(
    subjects.map((subject) => ({
      identifiers: identifiers.rows.filter(({ of }) => of === subject).map(({ row }) => row),
      consent: statements.rows
        .filter(({ of }) => of === subject)
        .map(({ speaker, position, state }) => [speaker, Number(position), state] as const),
    })),
  );
  const visitors = visitorsOf(record.identifiers, asOfMs, ttlMs);
  const isWithheld = ({ bot }: PersonVisitor) => settings.botMode === 'enforce' && reachesBotThreshold(bot, settings);
  const used = visitors.filter((visitor) => !isWithheld(visitor));
  const entry = (kind: string) => {
    const found = best(used, kind);
    return found ? { time: timeOf(found.atMs), ...(found.value as object) } : null;
  };
  const { consent, withheld } = decideConsent(record.consent, used, settings.consentRequired);
  const means = withheld === 'undecided' ? withheld : consent;
  const deciding = statements.rows.find(({ state }) => meaningOf(state) === means) ?? statements.rows[0];
  const email = subjects.find((subject) => nameOfSubject(subject) === 'subject');
  return {
    ...(email !== undefined && { subject: email }),
    clicks: Object.fromEntries(
      CLICK_KINDS.flatMap((kind) => {
        const click = entry(kind);
        return click ? [[kind, click as { id: string; time: string }]] : [];
      }),
    ),
    first: entry('first'),
    last: entry('last'),
    visit: entry('visit'),
    bot: entry('bot'),
    consent: deciding
      ? { ...deciding.state, means, time: deciding.at.toISOString(), by: nameOf(deciding.speaker) }
      : null,
    visitors: visitors.map((visitor) => shownVisitor(visitor, isWithheld(visitor))),
    statements: statements.rows.map(({ speaker, at, state }) => ({
      by: nameOf(speaker),
      time: at.toISOString(),
      means: meaningOf(state),
      consent: state,
    })),
  };
}

function shownVisitor({ id, contributions, bot }: PersonVisitor, withheld: boolean): ShownVisitor['visitors'][number] {
  const visit = contributions.get('visit');
  const since = visit?.landedMs ?? null;
  return {
    visitor: id === '' ? 'before version 0.3' : id,
    since: since === null ? null : timeOf(since),
    seen: timeOf(visit?.atMs ?? Math.max(...[...contributions.values()].map(({ atMs }) => atMs))),
    clicks: CLICK_KINDS.filter((kind) => contributions.has(kind)),
    bot: bot ?? null,
    withheld,
  };
}

function nameOf(speaker: string): string {
  if (speaker === OPERATOR) return 'operator';
  if (speaker === UNRECOGNISED || speaker === UNDECIDED) return 'unrecognised visitor';
  return speaker === '' ? 'before version 0.3' : `visitor ${speaker}`;
}

function timeOf(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
