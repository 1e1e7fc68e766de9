import { EventLog0000000000001 } from './0001-event-log.js';
import { Sites0000000000002 } from './0002-sites.js';

/** In the order they run. A migration that has landed is never changed: the next number corrects it. */
export const MIGRATIONS = [EventLog0000000000001, Sites0000000000002];
