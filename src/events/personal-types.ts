import { EVENT_SCHEMAS, type EventType } from './index.js';

/** Whether events of this type may have a personal part beside their data. */
export function mayBePersonal(type: string): boolean {
  return Object.hasOwn(EVENT_SCHEMAS, type) && EVENT_SCHEMAS[type as EventType].personal !== undefined;
}
