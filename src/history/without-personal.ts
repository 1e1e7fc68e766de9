import { actorWithoutUser } from '../events/unpublished-fields.js';
import { containsEmail } from '../kernel/email.js';
import { redact } from '../platforms/common-verdict.js';
import type { RedactedEvent } from './redact-event.js';

/** Texts of platforms and receivers, which repeat what they were sent. */
const FOREIGN_TEXTS: ReadonlySet<string> = new Set(['reason', 'response']);
/** Stands for a text with an email address: earlier versions stored order ids, event names and items as they were sent. */
const ADDRESS = '(an email address)';

/** The event without its personal part, and without what its other parts tell about people. */
export function withoutPersonal(event: RedactedEvent): RedactedEvent {
  return { ...event, actor: actorWithoutUser(event.actor), data: cleaned('', event.data) as object, personal: null };
}

/** The name of the field decides what its text may be. */
function cleaned(name: string, value: unknown): unknown {
  if (typeof value === 'string') return cleanedText(name, value);
  if (Array.isArray(value)) return value.map((item) => cleaned(name, item));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, part]) => [containsEmail(field) ? ADDRESS : field, cleaned(field, part)]),
  );
}

function cleanedText(name: string, text: string): string {
  if (FOREIGN_TEXTS.has(name)) return redact(text);
  if (containsEmail(text)) return ADDRESS;
  return name === 'by' ? actorWithoutUser(text) : text;
}
