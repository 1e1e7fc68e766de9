import { Interval } from '@nestjs/schedule';
import { isPerson, PERSON_BYTES, subjectOfPerson } from '../events/person-keys.js';
import { VISITOR } from '../events/visitor.events.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { NEWEST_POSITION } from '../log/event-reader.js';
import type { Follower } from '../log/follower.js';
import { LINEAGE } from '../postgres/lineage.js';
import type { Postgres } from '../postgres/postgres.js';
import { SubjectFilter } from './subject-filter.js';

const CHECK_EVERY_MS = 1_000;
/** Beyond this the filter is not used: the log would refuse most decisions that are based on it. */
const FRESH_FOR_MS = 1_000;
const CHECKED_FOR_MS = 3_000;
const PAGE_ROWS = 20_000;

/** The tables from which a look-up reads. */
const TABLES = ['identifiers', 'consent'] as const;

/**
 * People with stored data that a look-up could find. Loaded in the background and kept current by following the log.
 * Until then, and whenever it may be behind, every person counts as known. Deleted ones stay in it until the next load.
 */
export class KnownSubjects {
  private filter: SubjectFilter | undefined;
  private follower: Follower | undefined;
  private source: string | undefined;
  private expected = 0;
  private checkedAtMs = Number.NEGATIVE_INFINITY;
  private checking: Promise<void> | undefined;
  private stopped = false;
  /** How many look-ups it has saved. */
  saved = 0;

  constructor(
    private readonly postgres: Pick<Postgres, 'pool'>,
    private readonly log: EventLog,
  ) {}

  get size(): number {
    return this.filter?.size ?? 0;
  }

  /** The position as of which nothing is stored about the person; undefined if something may be. */
  absentAsOf(site: string, subject: string): number | undefined {
    const { filter, follower } = this;
    if (!filter || !follower || follower.ageMs > FRESH_FOR_MS) return undefined;
    if (performance.now() - this.checkedAtMs > CHECKED_FOR_MS || filter.has(site, subject)) return undefined;
    this.saved += 1;
    return follower.position;
  }

  @Interval(CHECK_EVERY_MS)
  scheduleCheck(): void {
    // When the database is unavailable, the next check tries again.
    if (!this.stopped) this.check().catch(() => {});
  }

  /** Loads the filter if there is none, if it is full, or if the tables are others than those from which it was loaded. */
  check(): Promise<void> {
    this.checking ??= this.loadIfNeeded().finally(() => {
      this.checking = undefined;
    });
    return this.checking;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.checking?.catch(() => {});
    await this.follower?.stop();
  }

  private async loadIfNeeded(): Promise<void> {
    const startedMs = performance.now();
    const { source, newest } = await this.readSource();
    // A database that was restored from a copy of its disk keeps its lineage, and may have fewer events than were followed.
    const isBehind = newest < (this.follower?.position ?? 0);
    if (!this.filter || this.filter.isFull || isBehind || source !== this.source) await this.load(source);
    // After a load, the tables may have been replaced again in the meantime: the next check finds out.
    else this.checkedAtMs = startedMs;
  }

  /** A rebuild replaces the tables, a restore the whole database, and neither appends an event about the people. */
  private async readSource(): Promise<{ source: string; newest: number }> {
    const tables = TABLES.map((table) => `'cc.${table}'::regclass::oid`).join(" || ' ' || ");
    const { rows } = await this.postgres.pool.query<{ source: string; newest: number }>({
      name: 'known-subjects-source',
      text: `SELECT ${tables} || ' ' || ${LINEAGE} AS source, ${NEWEST_POSITION}::float8 AS newest`,
    });
    return rows[0] ?? { source: '', newest: 0 };
  }

  private async load(source: string): Promise<void> {
    this.expected = Math.max(this.expected, 2 * this.size);
    this.filter = undefined;
    this.checkedAtMs = Number.NEGATIVE_INFINITY;
    await this.follower?.stop();
    const filter = new SubjectFilter(Math.max(this.expected, await this.estimate()));
    // From before the tables are read: what is stored while they are being read is read as an event.
    const after = await this.log.head();
    // Most visits are of visitors that are not known yet.
    const options = { name: 'subjects', after, categories: [VISITOR], subjectBytes: PERSON_BYTES };
    this.follower = await this.log.follow(options, (events) => addSubjects(filter, events));
    for (const table of TABLES) await this.readTable(table, filter);
    if (this.stopped) return;
    this.source = source;
    this.filter = filter;
  }

  /** Counts rows; there are fewer people than rows. A filter that is too small is loaded again. */
  private async estimate(): Promise<number> {
    const { rows } = await this.postgres.pool.query<{ rows: number }>(
      `SELECT coalesce(sum(reltuples) FILTER (WHERE reltuples > 0), 0)::float8 / 4 AS rows
         FROM pg_class WHERE oid IN (${TABLES.map((table) => `'cc.${table}'::regclass`).join(', ')})`,
    );
    return rows[0]?.rows ?? 0;
  }

  /** In pages, so that no query is long and the event loop is not held up. */
  private async readTable(table: (typeof TABLES)[number], filter: SubjectFilter): Promise<void> {
    let [site, subject]: [string, Buffer] = ['', Buffer.alloc(0)];
    while (!this.stopped) {
      const { rows } = await this.postgres.pool.query<{ site: string; keys: Buffer; last: Buffer }>({
        name: `known-subjects-${table}`,
        text: `SELECT site, string_agg(substring(subject, 1, 8), ''::bytea) AS keys,
                      (array_agg(subject ORDER BY subject DESC))[1] AS last
                 FROM (SELECT DISTINCT site, subject
                         FROM (SELECT site, subject FROM cc.${table} WHERE (site, subject) > ($1, $2)
                                ORDER BY site, subject LIMIT ${PAGE_ROWS}) page) people
                GROUP BY site ORDER BY site`,
        values: [site, subject],
      });
      const end = rows.at(-1);
      if (!end) return;
      for (const row of rows) filter.addAll(row.site, row.keys);
      [site, subject] = [end.site, end.last];
    }
  }
}

function addSubjects(filter: SubjectFilter, events: readonly StoredEvent[]): void {
  for (const { site, personal } of events) {
    const subject = personal ? subjectOfPerson(personal) : undefined;
    if (isPerson(subject)) filter.add(site, subject);
  }
}
