/**
 * What a value says, which decides what is stored of a delivery. `person`: it is hashed, its value is never stored. `visit`: about the
 * customer's visit and browser; stored with a conversion only, as far as consent permits. `plain`: stored.
 */
export type FieldKind = 'person' | 'visit' | 'plain';

const KINDS: Readonly<Record<FieldKind, string>> = {
  person: 'email phone firstName lastName',
  visit: 'ipAddress userAgent pageUrl referrer',
  plain: `hashed_email hashed_phone hashed_first_name hashed_last_name hashed_city hashed_region hashed_postal_code hashed_country
    event value currency orderId occurredAt externalId city region postalCode country source eventId`,
};

/** Fields with parts, such as `clickIds.gclid`. */
const PARTS: Readonly<Record<string, FieldKind>> = {
  clickIds: 'visit',
  cookies: 'visit',
  utm: 'visit',
  consent: 'plain',
  custom: 'plain',
};

export const ITEM_PARTS: readonly string[] = ['id', 'name', 'quantity', 'price', 'category'];

const WHOLE: ReadonlyMap<string, FieldKind> = new Map(
  (Object.keys(KINDS) as FieldKind[]).flatMap((kind) =>
    KINDS[kind].split(/\s+/).map((field) => [field, kind] as const),
  ),
);

export const FIELD_NAMES: readonly string[] = [...WHOLE.keys(), ...Object.keys(PARTS), 'items'];

/** Undefined if a rule cannot set it. */
export function kindOf(field: string): FieldKind | undefined {
  const whole = WHOLE.get(field);
  if (whole !== undefined) return whole;
  const dot = field.indexOf('.');
  if (dot < 1 || !/^[\w -]{1,64}$/.test(field.slice(dot + 1))) return undefined;
  const parent = field.slice(0, dot);
  return Object.hasOwn(PARTS, parent) ? PARTS[parent] : undefined;
}
