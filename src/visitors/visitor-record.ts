import type { AsOf } from '../log/event.js';
import { decideConsent, OPERATOR, type StoredStatement } from './consent.js';
import type { StoredIdentifier } from './person.js';

/** A person, by the subjects under which something may be stored about it. */
export interface LookedUpPerson {
  readonly subject: string;
  readonly others?: readonly string[] | undefined;
}

/** What the visitors of one person contributed, and who stated which consent. */
export interface VisitorRecord {
  readonly identifiers: readonly StoredIdentifier[];
  readonly consent: readonly StoredStatement[] | 'unreadable';
  /** More is stored about the person than a lookup reads. */
  readonly isPartial?: true | undefined;
  /** The newest position of the log when it was read. */
  readonly position?: number | undefined;
}

export const UNREADABLE: VisitorRecord = { identifiers: [], consent: 'unreadable' };

/** For the append of what was decided on the record. A record that could not be read cannot become outdated. */
export function asOfRecord(
  { position, identifiers, consent }: VisitorRecord,
  others?: readonly string[],
): AsOf | undefined {
  if (position === undefined) return undefined;
  const found = identifiers.length > 0 || consent.length > 0;
  return others ? { position, found, others } : { position, found };
}

/** The record of a person with several subjects. */
export function mergedRecord(records: readonly VisitorRecord[]): VisitorRecord {
  const statements: (readonly StoredStatement[])[] = [];
  const identifiers = new Map<string, StoredIdentifier>();
  let isPartial = false;
  for (const record of records) {
    if (record.consent === 'unreadable') return UNREADABLE;
    statements.push(record.consent);
    if (record.isPartial) isPartial = true;
    for (const identifier of record.identifiers) addIdentifier(identifiers, identifier);
  }
  return {
    identifiers: [...identifiers.values()],
    consent: mergedStatements(statements),
    position: Math.min(...records.map(({ position = 0 }) => position)),
    ...(isPartial && { isPartial }),
  };
}

/** A visitor may have contributed under several subjects. Which one counts is as in `note-identifiers.sql`. */
function addIdentifier(identifiers: Map<string, StoredIdentifier>, added: StoredIdentifier): void {
  const [visitor, kind, atMs, , position] = added;
  const key = `${visitor} ${kind}`;
  const known = identifiers.get(key);
  if (known) {
    const order = atMs - known[2] || position - known[4];
    if (kind === 'first' ? order >= 0 : order <= 0) return;
  }
  identifiers.set(key, added);
}

/** An opt-out under one subject is not lifted by what was stated under another. */
function mergedStatements(groups: readonly (readonly StoredStatement[])[]): readonly StoredStatement[] {
  const withheld = groups.map((group) => decideConsent(group, [], false).withheld);
  const optedOut = withheld.indexOf('opted_out');
  const strictest = optedOut === -1 ? withheld.findIndex((reason) => reason !== undefined) : optedOut;
  return groups[strictest] ?? groups.flatMap(statementsInForce);
}

/** An operator's statement replaces all earlier ones under its subject. */
function statementsInForce(statements: readonly StoredStatement[]): readonly StoredStatement[] {
  const operator = statements.find(([speaker]) => speaker === OPERATOR);
  return operator ? statements.filter(([, position]) => position >= operator[1]) : statements;
}
