import { EventLog0000000000001 } from './0001-event-log.js';
import { Sites0000000000002 } from './0002-sites.js';
import { Dispatch0000000000003 } from './0003-dispatch.js';
import { Kafka0000000000020 } from './0020-kafka.js';

/** In the order they run. A migration that has landed is never changed: the next number corrects it. */
export const MIGRATIONS = [EventLog0000000000001, Sites0000000000002, Dispatch0000000000003, Kafka0000000000020];
