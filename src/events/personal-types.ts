import type { DomainEvent } from './index.js';

type PersonalType = Extract<DomainEvent, { personal: object }>['type'];

/** The compiler reports a type that is missing here. */
const PERSONAL_TYPES: Readonly<Record<PersonalType, true>> = {
  'conversion.received.v1': true,
  'conversion.deduplicated.v1': true,
  'conversion.filtered.v1': true,
  'conversion.reopened.v1': true,
  'site.filter_added.v1': true,
  'visitor.visited.v1': true,
  'visitor.identified.v1': true,
  'visitor.consent_changed.v1': true,
  'visitor.bot_detected.v1': true,
  'visitor.rejudged.v1': true,
};

/** Whether events of this type may have a personal part beside their data. */
export function mayBePersonal(type: string): boolean {
  return Object.hasOwn(PERSONAL_TYPES, type);
}
