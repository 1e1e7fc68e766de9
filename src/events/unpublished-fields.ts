import { outcomeEvents } from './delivery.events.js';
import { FILTER_LISTS } from './site.events.js';

/** A field of the data that stays in the database: it is neither printed, exported nor published. */
interface UnpublishedField {
  /** The object in the data that has the field; undefined: the data itself. */
  readonly within?: string;
  readonly field: string;
  /** Only values of this form, which are texts. */
  readonly form?: RegExp;
}

/**
 * A plain SHA-256 of a payload, which may hold little more than the hash of an email address: with a list of addresses it tells whose
 * payload it is. Newer ones are keyed, and have another form.
 */
const PLAIN_DIGEST: readonly UnpublishedField[] = [{ field: 'bodySha256', form: /^[0-9a-f]{64}$/ }];

const DELIVERY_TYPES = [...Object.keys(outcomeEvents), 'conversion.send_requested.v1'];

export const UNPUBLISHED: Readonly<Record<string, readonly UnpublishedField[]>> = {
  // Only authentication needs it.
  'site.key_issued.v1': [{ field: 'hash' }],
  // Hashes of email addresses, and IP addresses, as versions before 0.3 stored them.
  'site.settings_changed.v1': FILTER_LISTS.map((field) => ({ within: 'settings', field })),
  ...Object.fromEntries(DELIVERY_TYPES.map((type) => [type, PLAIN_DIGEST])),
};

/** By event type: finds such fields in the JSON text of data. A quotation mark inside a string is escaped, so it finds nothing else. */
const IN_TEXT: ReadonlyMap<string, RegExp> = new Map(
  Object.entries(UNPUBLISHED).map(([type, fields]) => [type, new RegExp(fields.map(inText).join('|'))]),
);

function inText({ field, form }: UnpublishedField): string {
  return `"${field}"\\s*:${form ? `\\s*"${form.source.slice(1, -1)}"` : ''}`;
}

/** Whether an event with this data, as JSON text, is shown without some of it. */
export function hasUnpublished(type: string, data: string): boolean {
  return IN_TEXT.get(type)?.test(data) ?? false;
}

/** The actor without the user of the operating system, who may be a person: `cli:<user>` becomes `cli`. The other ids are opaque. */
export function actorWithoutUser(actor: string): string {
  return actor.startsWith('cli:') ? 'cli' : actor;
}

/** The data of an event as it is printed, exported and published; the same object if all of it is. */
export function publishedFields(type: string, data: object): object {
  return (UNPUBLISHED[type] ?? []).reduce(without, data);
}

function without(data: object, { within, field, form }: UnpublishedField): object {
  if (within !== undefined) {
    const { [within]: inner } = data as Readonly<Record<string, object>>;
    const shown = inner && without(inner, { field });
    return shown === inner ? data : { ...data, [within]: shown };
  }
  const { [field]: value } = data as Readonly<Record<string, unknown>>;
  if (value === undefined || (form && !form.test(String(value)))) return data;
  return Object.fromEntries(Object.entries(data).filter(([name]) => name !== field));
}
