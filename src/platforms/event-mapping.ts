import { canonicalText } from '../kernel/canonical-text.js';
import type { Conversion } from './conversion.js';
import { externalIdOf } from './external-id.js';
import { unitsIn } from './items.js';
import { FIRST_PAYLOAD_VERSION } from './payload-version.js';
import type { Payload, Settings } from './platform.js';

/** The platform's name or id of an event, if the connection maps it: `event.<ours>=<theirs>`. */
export function mappedEvent(settings: Settings, event: string): string | undefined {
  return settings[`event.${canonicalText(event)}`];
}

/** The platform's names or ids of all events that the connection maps. */
export function mappedNames(settings: Settings): readonly string[] {
  return Object.entries(settings).flatMap(([name, value]) => (name.startsWith('event.') ? [value] : []));
}

/** With the names of events in the form in which they are compared. Before 0.3 they were stored as they were given. */
export function canonicalSettings(settings: Settings): Settings {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => {
      if (name.startsWith('event.')) return [`event.${canonicalText(name.slice('event.'.length))}`, value];
      if (name === 'events' || name === 'refund_event') return [name, canonicalText(value)];
      return [name, value];
    }),
  );
}

/** As many destinations as one request to Google's Data Manager may have. */
const ACTIONS_MAX = 10;

/** Where the platform's id of an event is that of a conversion action or rule, there may be several: `event.<ours>=111,222`. */
export function mappedActions(settings: Settings, event: string): readonly string[] | undefined {
  const mapped = mappedEvent(settings, event);
  return mapped === undefined ? undefined : idsIn(mapped);
}

/** What is wrong with the ids that an event is mapped to; `what` describes a valid one. */
export function actionsProblem(name: string, value: string, id: RegExp, what: string): string | undefined {
  const ids = idsIn(value);
  if (!ids.every((each) => id.test(each))) return `${name} must be ${what}; separate several with commas`;
  if (new Set(ids).size < ids.length) return `${name} has the same id twice`;
  return ids.length > ACTIONS_MAX ? `${name} has more than ${ACTIONS_MAX} ids` : undefined;
}

function idsIn(list: string): string[] {
  return list.split(',').map((id) => id.trim());
}

/** The payload of a conversion for each of these actions. */
export function payloadFor(actions: readonly string[], itemFor: (action: string) => object, group?: string): Payload {
  const [action = '', ...others] = actions;
  const several = others.length > 0 && { item: actions.map(itemFor), actions };
  return { ...(several || { item: itemFor(action) }), ...(group !== undefined && { group }) };
}

/** `events=purchase,lead` selects the events that are sent; without it all are. */
export function isSelected(settings: Settings, event: string): boolean {
  const { events } = settings;
  if (events === undefined) return true;
  const name = canonicalText(event);
  return events.split(',').some((selected) => selected.trim() === name);
}

/** The values of a conversion that `field.<theirs>=<ours>` can refer to. */
export const FIELD_SOURCES = [
  ...(['event', 'value', 'currency', 'orderId', 'conversionId', 'occurredAt', 'source', 'itemCount'] as const),
  ...(['externalId', 'city', 'region', 'postalCode', 'country'] as const),
] as const;
type FieldSource = (typeof FIELD_SOURCES)[number];

type FieldValue = string | number | boolean;

/** What the sender named in `custom`. */
const CUSTOM = 'custom.';

/** `field.<theirs>="text"` sends the text itself. */
const CONSTANT = /^"(.*)"$/su;

/** The custom fields of the connection (`field.<theirs>=<ours>`) by name, filled from the conversion; absent values are left out. */
export function customFields(settings: Settings, conversion: Conversion): Record<string, FieldValue> {
  const fields: Record<string, FieldValue> = {};
  for (const [name, source] of fieldSettings(settings)) {
    const value = CONSTANT.exec(source)?.[1] ?? sourceValue(source, conversion);
    if (value !== undefined) fields[name] = value;
  }
  return fields;
}

/** By the settings: they belong to one connection, and every conversion asks for them. */
const fieldsOf = new WeakMap<Settings, readonly (readonly [name: string, source: string])[]>();

function fieldSettings(settings: Settings): readonly (readonly [name: string, source: string])[] {
  let fields = fieldsOf.get(settings);
  if (!fields) {
    const all = Object.entries(settings).filter(([name]) => name.startsWith('field.'));
    fields = all.map(([name, source]) => [name.slice('field.'.length), source] as const);
    fieldsOf.set(settings, fields);
  }
  return fields;
}

function sourceValue(source: string, conversion: Conversion): FieldValue | undefined {
  if (!source.startsWith(CUSTOM)) return fieldValue(source as FieldSource, conversion);
  const { custom = {} } = conversion;
  const key = source.slice(CUSTOM.length);
  return Object.hasOwn(custom, key) ? custom[key] : undefined;
}

function fieldValue(source: FieldSource, conversion: Conversion): FieldValue | undefined {
  switch (source) {
    case 'conversionId':
      return conversion.id;
    case 'occurredAt':
      return new Date(conversion.timeMs).toISOString();
    case 'itemCount':
      return conversion.items && unitsIn(conversion.items);
    case 'externalId':
      return externalIdOf(conversion);
    // Personal, so after an opt-out they are not sent. A country is not.
    case 'city':
    case 'region':
    case 'postalCode':
      return conversion.consent === 'denied' ? undefined : conversion.address?.[source];
    case 'country':
      return conversion.address?.country;
    default:
      return conversion[source];
  }
}

/** The custom fields as an object: a dot in a name leads to an object inside. */
export function customObject(settings: Settings, conversion: Conversion): Record<string, unknown> {
  const fields = customFields(settings, conversion);
  if (conversion.payloadVersion === FIRST_PAYLOAD_VERSION) return fields;
  const object: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) setPath(object, name.split('.'), value);
  return object;
}

function setPath(object: Record<string, unknown>, path: readonly string[], value: FieldValue): void {
  const [name = '', ...rest] = path;
  if (rest.length === 0) {
    object[name] = value;
    return;
  }
  const inner = object[name];
  const next = typeof inner === 'object' ? (inner as Record<string, unknown>) : {};
  object[name] = next;
  setPath(next, rest, value);
}

/** Returns what is wrong with `field.<theirs>=<source>`, or undefined. */
export function checkCustomField(theirs: string, source: string): string | undefined {
  if (theirs.split('.').some((name) => name === '' || name === '__proto__'))
    return 'the name of the field must be names separated by dots, such as user.plan';
  if (CONSTANT.test(source) || (FIELD_SOURCES as readonly string[]).includes(source)) return undefined;
  if (source.startsWith(CUSTOM) && source.length > CUSTOM.length) return undefined;
  return `must be one of ${FIELD_SOURCES.join(', ')}, custom.<key>, or a text in double quotes`;
}
