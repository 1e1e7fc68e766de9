import { EventLog0000000000001 } from './0001-event-log.js';
import { Sites0000000000002 } from './0002-sites.js';
import { Dispatch0000000000003 } from './0003-dispatch.js';
import { Visitors0000000000004 } from './0004-visitors.js';
import { Outbound0000000000007 } from './0007-outbound.js';
import { Kafka0000000000020 } from './0020-kafka.js';
import { Names0000000000021 } from './0021-names.js';

/** In the order they run. A migration that has landed is never changed: the next number corrects it. */
export const MIGRATIONS = [
  EventLog0000000000001,
  Sites0000000000002,
  Dispatch0000000000003,
  Visitors0000000000004,
  Outbound0000000000007,
  Kafka0000000000020,
  Names0000000000021,
];
