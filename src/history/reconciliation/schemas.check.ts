import { checkData } from '../../events/check-data.js';
import { EVENT_SCHEMAS, type EventType } from '../../events/index.js';
import { counted } from '../../kernel/counted.js';
import type { EventCheck } from '../verify.js';
import { Violations } from './violations.js';

/** The data of every event has the shape that its type's schema describes. */
export function schemasCheck(): EventCheck {
  const violations = new Violations();
  const unknown = new Set<string>();
  let events = 0;
  return {
    name: 'schemas',
    read(row) {
      // A newer version may have written types that this one does not know.
      if (!Object.hasOwn(EVENT_SCHEMAS, row.type)) unknown.add(row.type);
      else {
        events += 1;
        const wrong = checkData(row.type as EventType, row.data());
        if (wrong !== undefined) violations.add(`the ${row.type} at position ${row.position}: ${wrong}`);
      }
    },
    finish() {
      const unchecked = unknown.size === 0 ? '' : `; not checked, without a schema: ${[...unknown].sort().join(', ')}`;
      return violations.findingOfLog(
        `${counted(events, 'event')} compared with the schemas of their types${unchecked}`,
      );
    },
  };
}
