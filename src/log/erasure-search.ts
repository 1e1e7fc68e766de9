import type { ClientBase } from 'pg';
import type { Projection } from './projections/projection.js';

export interface ErasureSearch {
  readonly site: string;
  /** Of one person, in hex. */
  readonly subjects: readonly string[];
  /** Further subjects that are named in personal parts of this one and are erased with it. */
  linkedSubjects(personal: readonly unknown[]): string[];
  /**
   * Subjects that anyone could have named in these personal parts. They are erased if no part about them names another linked
   * subject; otherwise only the parts that name one which is erased.
   */
  claimedSubjects?(personal: readonly unknown[]): string[];
  /** Exclusive: only events of the site that has the host now. All, if it is undefined. */
  readonly after?: number | undefined;
  /** Only events in whose stream the first part about the person is up to this place in the order of the site's events. All, if it is undefined. */
  readonly until?: number | undefined;
  /** All projections; those that declare `subjectColumns` lose the rows of the subject, those with `forget` its events. */
  readonly projections: readonly Projection[];
}

/** An event that has a personal part about the subjects. */
export interface FoundEvent {
  readonly position: number;
  /** `<category>-<id>` */
  readonly stream: string;
  /** The first one that names a linked subject: as long as it is there, another search finds that subject too. */
  readonly isLink: boolean;
}

/**
 * Divides events so that each part can be erased on its own. Streams stay whole, because a projection may need all events of one
 * to take them out. The events that name linked subjects are in the last part: after a crash the next erasure finds all that is left.
 */
export function erasureParts(found: readonly FoundEvent[], most: number): FoundEvent[][] {
  const streams = new Map<string, FoundEvent[]>();
  for (const event of found) {
    const known = streams.get(event.stream);
    if (known) known.push(event);
    else streams.set(event.stream, [event]);
  }
  const links: FoundEvent[] = [];
  const parts: FoundEvent[][] = [];
  let part: FoundEvent[] = [];
  for (const events of streams.values()) {
    if (events.some(({ isLink }) => isLink)) {
      links.push(...events);
      continue;
    }
    if (part.length > 0 && part.length + events.length > most) {
      parts.push(part);
      part = [];
    }
    part.push(...events);
  }
  return [...parts, [...part, ...links]];
}

/** What an erasure deletes, in hex. */
export class ErasedSubjects {
  readonly whole: Set<string>;
  /** Claimed subjects of which not everything is deleted. */
  readonly partial = new Set<string>();
  /** Claimed subjects that have been looked at. */
  readonly claimed = new Set<string>();

  constructor(subjects: readonly string[]) {
    this.whole = new Set(subjects);
  }
}

/** The events about the subjects and those linked with them, which are added to `subjects`. */
export async function findWithLinked(
  client: ClientBase,
  search: ErasureSearch,
  subjects: ErasedSubjects,
  until: number,
): Promise<FoundEvent[]> {
  const { whole, partial, claimed } = subjects;
  const linked = new Set(search.subjects);
  const links = new Set<number>();
  const nameAll = (named: Set<string>, parts: readonly Part[], namedBy: ErasureSearch['linkedSubjects'] = () => []) => {
    for (const { position, data } of parts) {
      const first = namedBy([data]).filter((each) => !named.has(each));
      for (const each of first) named.add(each);
      if (first.length > 0) links.add(position);
    }
  };
  const add = (added: Iterable<string>) => {
    for (const each of added) {
      whole.add(each);
      claimed.delete(each);
    }
  };
  const found: Part[] = [];
  let next: ReadonlySet<string> = new Set(whole);
  for (;;) {
    while (next.size > 0) {
      const parts = await findPersonal(client, search, next, -1, until);
      found.push(...parts);
      nameAll(linked, parts, search.linkedSubjects);
      next = new Set([...linked].filter((each) => !whole.has(each)));
      add(next);
    }
    nameAll(claimed, found, search.claimedSubjects);
    for (const each of whole) claimed.delete(each);
    const divided = divideClaimed(search, subjects, await findPersonal(client, search, claimed, -1, until));
    nameAll(linked, divided.own, search.linkedSubjects);
    next = new Set([...linked, ...divided.promoted].filter((each) => !whole.has(each)));
    add(next);
    if (next.size > 0) continue;
    partial.clear();
    for (const { subject } of divided.own) partial.add(subject);
    return withStreams(client, [...found, ...divided.own], (position) => links.has(position));
  }
}

/** What is erased about claimed subjects: all about those that are promoted, otherwise its own parts. */
function divideClaimed(
  search: ErasureSearch,
  subjects: ErasedSubjects,
  parts: readonly Part[],
): { readonly promoted: string[]; readonly own: Part[] } {
  const bySubject = new Map<string, Part[]>();
  for (const part of parts) bySubject.set(part.subject, [...(bySubject.get(part.subject) ?? []), part]);
  const isOthers = ({ data }: Part) => {
    const linked = search.linkedSubjects([data]);
    return linked.length > 0 && linked.every((each) => !subjects.whole.has(each) && !subjects.claimed.has(each));
  };
  const promoted: string[] = [];
  const own: Part[] = [];
  for (const [claimed, about] of bySubject) {
    const named = about.filter((part) => isOwn(search, subjects, part));
    if (named.length === 0) continue;
    if (about.some(isOthers)) own.push(...named);
    else promoted.push(claimed);
  }
  return { promoted, own };
}

/** Whether a part about a claimed subject names one that is erased. */
function isOwn({ linkedSubjects }: ErasureSearch, { whole }: ErasedSubjects, { data }: Part): boolean {
  return linkedSubjects([data]).some((each) => whole.has(each));
}

async function withStreams(
  client: ClientBase,
  found: readonly { readonly position: number }[],
  isLink: (position: number) => boolean,
): Promise<FoundEvent[]> {
  const { rows } = await client.query<{ position: number; stream: string }>(
    `SELECT position::float8 AS position, category || '-' || stream AS stream FROM cc.events WHERE position = ANY ($1)`,
    [found.map(({ position }) => position)],
  );
  return rows.map((event) => ({ ...event, isLink: isLink(event.position) }));
}

/** Events that were appended since a search. Undefined if one names another subject: the search must then run again. */
export async function findAppended(
  client: ClientBase,
  search: ErasureSearch,
  subjects: ErasedSubjects,
  after: number,
  until: number,
): Promise<FoundEvent[] | undefined> {
  const { whole, partial, claimed } = subjects;
  const about = await findPersonal(client, search, new Set([...whole, ...partial]), after, until);
  const found = about.filter((part) => whole.has(part.subject) || isOwn(search, subjects, part));
  const personal = found.map(({ data }) => data);
  if (search.linkedSubjects(personal).some((each) => !whole.has(each))) return undefined;
  if (search.claimedSubjects?.(personal).some((each) => !whole.has(each) && !claimed.has(each))) return undefined;
  return withStreams(client, found, () => false);
}

interface Part {
  readonly position: number;
  /** In hex. */
  readonly subject: string;
  readonly data: unknown;
}

/** In a range of positions: `after` is exclusive, `until` inclusive. */
async function findPersonal(
  client: ClientBase,
  { site, after: start = -1, until: place }: ErasureSearch,
  subjects: ReadonlySet<string>,
  after: number,
  until: number,
): Promise<Part[]> {
  if (subjects.size === 0) return [];
  const { rows } = await client.query<Part>(
    `SELECT p.position::float8 AS position, encode(p.subject, 'hex') AS subject, p.data FROM cc.personal p
      WHERE p.site = $1 AND p.subject = ANY ($2) AND p.position > $3 AND p.position <= $4
        AND ($5::bigint IS NULL OR EXISTS (
          SELECT FROM cc.events e JOIN cc.events other USING (stream) JOIN cc.personal part ON part.position = other.position
           WHERE e.position = p.position AND part.subject = p.subject AND other.position <= $5))`,
    [site, bytesOf(subjects), Math.max(start, after), until, place],
  );
  return rows;
}

export function bytesOf(subjects: Iterable<string>): Buffer[] {
  return [...subjects].map((subject) => Buffer.from(subject, 'hex'));
}
