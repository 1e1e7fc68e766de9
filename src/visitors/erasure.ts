import { VISITOR, type VisitorEvent } from '../events/visitor.events.js';
import { uuidv7 } from '../kernel/uuid.js';
import { eraseSubject } from '../log/erasure.js';
import type { EventLog } from '../log/event-log.js';
import type { Postgres } from '../postgres/postgres.js';
import type { ErasureList } from './erasure-list.js';
import { visitorSubject } from './visitor.js';

const TABLES = ['identifiers', 'consent', 'unmatched'] as const;

export interface ErasedVisitor {
  /** Whose personal part is gone. */
  readonly events: number;
  readonly identifiers: number;
  /** Duplicate keys that were made of the person. */
  readonly claims: number;
}

/** Makes the log forget people. What happened, and how much of it, stays; of whom, does not. */
export class Erasure {
  constructor(
    private readonly postgres: Postgres,
    private readonly log: EventLog,
    private readonly list: ErasureList,
  ) {}

  /** It is on the list before it is done: a backup that is put back brings people back, and the list makes them go again. */
  async erase(site: string, subject: string): Promise<ErasedVisitor> {
    await this.list.add({ site, subject });
    return this.carryOut(site, subject);
  }

  /** Everybody on the list once more. */
  async rerun(progress: (done: number, all: number) => void): Promise<{ people: number } & ErasedVisitor> {
    const people = await this.list.read();
    const sum = { events: 0, identifiers: 0, claims: 0 };
    for (const [index, { site, subject }] of people.entries()) {
      const erased = await this.carryOut(site, subject);
      for (const name of ['events', 'identifiers', 'claims'] as const) sum[name] += erased[name];
      progress(index + 1, people.length);
    }
    return { people: people.length, ...sum };
  }

  private async carryOut(site: string, subject: string): Promise<ErasedVisitor> {
    let identifiers = 0;
    const { events, claims } = await eraseSubject(this.postgres, {
      site,
      subject,
      projections: [...TABLES, 'dedup'],
      // What the same browser showed before it was known whose it is.
      also: (personal) =>
        personal.flatMap((data) => {
          const { visitor } = (data ?? {}) as { visitor?: string };
          return visitor === undefined ? [] : [visitorSubject(visitor)];
        }),
      async forget(tx, subjects) {
        for (const table of TABLES) {
          const { rowCount } = await tx.query(`DELETE FROM cc.${table} WHERE site = $1 AND subject = ANY ($2)`, [
            site,
            subjects,
          ]);
          if (table === 'identifiers') identifiers = rowCount ?? 0;
        }
      },
    });
    const erased = { events, identifiers, claims };
    const event: VisitorEvent = { type: 'visitor.erased.v1', data: erased };
    await this.log.append({
      ...{ category: VISITOR, stream: uuidv7(), expected: 'new', site, actor: 'cli' },
      events: [event],
    });
    return erased;
  }
}
