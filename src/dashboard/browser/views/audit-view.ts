import type { Schemas } from '../api.js';

/** Who caused an event: `user:<id>`, `token:<id>`, `cli:<name>` or a part of the service. A removed user has no name. */
export function auditActor(actor: string, name: string | undefined): string {
  const separator = actor.indexOf(':');
  const [kind, id] = separator === -1 ? [actor, ''] : [actor.slice(0, separator), actor.slice(separator + 1)];
  if (kind === 'user') return name ?? `user ${id.slice(-6)}`;
  if (kind === 'token') return `token ${name ?? id.slice(-6)}`;
  if (kind === 'cli') return id === '' ? 'command line' : `${id} (command line)`;
  return kind;
}

/** The user that was changed. A removed one has no name. */
export function auditSubject({ stream, subjectName }: Pick<Schemas['AuditEvent'], 'stream' | 'subjectName'>): string {
  return subjectName ?? `user ${stream.slice(-6)}`;
}

const SHOWN_MAX = 4;

/** The first values of an event, in one line. */
export function auditDetail(data: Readonly<Record<string, unknown>>): string {
  const values = Object.entries(data).flatMap(([name, value]) => describe(name, value));
  const more = values.length - SHOWN_MAX;
  return [...values.slice(0, SHOWN_MAX), ...(more > 0 ? [`and ${more} more`] : [])].join(' · ');
}

function describe(name: string, value: unknown): string[] {
  if (value === null || value === undefined || isId(name)) return [];
  if (Array.isArray(value))
    return value.length === 0
      ? []
      : [`${wordsOf(name)}: ${value.slice(0, 3).join(', ')}${value.length > 3 ? ', …' : ''}`];
  if (typeof value === 'object') return Object.entries(value).flatMap(([key, inner]) => describe(key, inner));
  return [`${wordsOf(name)}: ${typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)}`];
}

/** `fromPosition` as "from position". A name of the platform, such as `pixel_id`, stays. */
function wordsOf(name: string): string {
  return name.replaceAll(/([a-z])([A-Z])/g, (_, before: string, letter: string) => `${before} ${letter.toLowerCase()}`);
}

/** Ids say nothing to a reader. */
function isId(name: string): boolean {
  return name !== 'orderId' && /(?:^id|Id|hash|Hash)$/.test(name);
}
