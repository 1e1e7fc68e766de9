import { EVENT_SCHEMAS } from '../../events/index.js';
import { compileSchema, type Validator } from '../../events/validate.js';
import type { EventCheck } from '../verify.js';
import { Violations } from './violations.js';

/** The data of every event has the shape that its type's schema describes. */
export function schemasCheck(): EventCheck {
  const validators = new Map<string, Validator>(
    Object.entries(EVENT_SCHEMAS).map(([type, { data }]) => [type, compileSchema(data)]),
  );
  const violations = new Violations();
  const unknown = new Set<string>();
  let events = 0;
  return {
    name: 'schemas',
    read(row) {
      const validate = validators.get(row.type);
      // A newer version may have written types that this one does not know.
      if (!validate) unknown.add(row.type);
      else {
        events += 1;
        const wrong = validate(row.data(), 'data');
        if (wrong !== undefined) violations.add(`the ${row.type} at position ${row.position}: ${wrong}`);
      }
    },
    finish() {
      const unchecked = unknown.size === 0 ? '' : `; not checked, without a schema: ${[...unknown].sort().join(', ')}`;
      return violations.findingOfLog(`${events} events compared with the schemas of their types${unchecked}`);
    },
  };
}
