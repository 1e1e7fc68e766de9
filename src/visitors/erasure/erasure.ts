import type { ConversionPersonal } from '../../events/conversion.events.js';
import { clickKey, statedKeys } from '../../events/person-keys.js';
import { VISITOR, type VisitorEvent, type VisitPersonal } from '../../events/visitor.events.js';
import type { Actor } from '../../kernel/command.js';
import { uuidv7 } from '../../kernel/uuid.js';
import {
  countErasable,
  type Erased,
  type ErasureOptions,
  type ExpiryRecord,
  eraseSubject,
  expirePersonalPartsAt,
} from '../../log/erasure.js';
import type { Projection } from '../../log/projections/projection.js';
import type { Postgres } from '../../postgres/postgres.js';
import { visitorSubject } from '../visitor.js';
import type { ErasedSubject } from './erase-subject.command.js';

/** Erases one data subject from the log and from all projections, and records that it did. */
export class Erasure {
  constructor(
    private readonly postgres: Postgres,
    private readonly projections: readonly Projection[],
    /** Deletes what other tables have about the person: see `erased-copies.ts`. */
    private readonly deleteCopies: (site: string, subject: string, actor: Actor) => Promise<void>,
  ) {}

  /** `others`: further subjects of the person. `until`, `after`: positions; what the person did afterwards, or until then, stays. Resolves with the position of the event that states the erasure, too. */
  async erase(
    actor: Actor,
    site: string,
    subject: string,
    until?: ErasureOptions['until'],
    after?: ErasureOptions['after'],
    others: readonly string[] = [],
  ): Promise<ErasedSubject & { readonly position: number }> {
    const erased = await eraseSubject(this.postgres, {
      ...{ site, subjects: [subject, ...others], until, after },
      projections: this.projections,
      ...{ linkedSubjects, claimedSubjects },
      record: (erased) => {
        const event: VisitorEvent = { type: 'visitor.erased.v1', data: countsOf(erased) };
        return { category: VISITOR, stream: uuidv7(), expected: 'new', site, actor, events: [event] };
      },
    });
    // Afterwards, so that nothing is copied again; also if nothing was found, because an erasure may have ended before this.
    for (const each of [subject, ...others]) await this.deleteCopies(site, each, actor);
    return { ...countsOf(erased), position: erased.position };
  }

  /** Deletes the personal parts of visits that have expired in another cell; later ones of the same visitors stay. */
  async expireVisits(positions: readonly number[]): Promise<void> {
    await expirePersonalPartsAt(this.postgres, positions, expiryOf('unidentified'));
  }

  /** Counts what an erasure would delete at the moment. */
  async preview(site: string, subjects: readonly string[], after?: ErasureOptions['after']): Promise<ErasedSubject> {
    const { projections } = this;
    const links = { linkedSubjects, claimedSubjects };
    return countsOf(await countErasable(this.postgres, { site, subjects, after, projections, ...links }));
  }
}

/** Events of the same browser from before the visitor was identified, and what senders stated together with the person. */
function linkedSubjects(personal: readonly unknown[]): string[] {
  return personal.flatMap((data) => {
    const { visitor, browser, ...stated } = (data ?? {}) as Partial<VisitPersonal & ConversionPersonal>;
    const browsers = [visitor, browser].flatMap((id) => (id === undefined ? [] : [visitorSubject(id)]));
    return [...browsers, ...statedKeys(stated)];
  });
}

/** The clicks of visits: a link can be passed on, and any caller can state a click id that it knows. */
function claimedSubjects(personal: readonly unknown[]): string[] {
  return personal.flatMap((data) => {
    const { clicks = {} } = (data ?? {}) as Partial<VisitPersonal>;
    return Object.values(clicks).flatMap((click) => (click ? [clickKey(click.id)] : []));
  });
}

function countsOf({ events, claims, rows }: Erased): ErasedSubject {
  return { events, identifiers: rows.get('identifiers') ?? 0, claims };
}

/** Accounts for the missing personal parts, as after an erasure. */
export function expiryOf(reason: 'unidentified' | 'expired'): ExpiryRecord {
  return (site, { events, claims }) => {
    const data = { events, identifiers: 0, claims, [reason]: true as const };
    const event: VisitorEvent = { type: 'visitor.erased.v1', data };
    return { category: VISITOR, stream: uuidv7(), expected: 'new', site, actor: 'system', events: [event] };
  };
}
