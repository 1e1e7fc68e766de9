import * as z from 'zod/mini';
import { EVENT_SCHEMAS, type EventType } from './index.js';

/** Compiled when it is first needed: the log has millions of events, and a command may check none. */
const compiled = new Map<EventType, z.ZodMiniType>();

/** Returns what is wrong with the data of an event, without any value of it; undefined if it is valid. */
export function checkData(type: EventType, data: unknown): string | undefined {
  const schema = EVENT_SCHEMAS[type].data;
  let fast = compiled.get(type);
  if (!fast) {
    fast = z.compile(schema);
    compiled.set(type, fast);
  }
  try {
    return z.validate(fast, data) ? undefined : firstFault(schema, data);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // Zod passes the faults of a field as arguments, and an event of another log may have more than the stack can hold.
    return 'data has too many faults';
  }
}

/** Zod knows `abortEarly`, but not in its types: the other elements of a list are not looked at. */
const FIRST = { error: fault, abortEarly: true };

function firstFault(schema: z.ZodMiniType, data: unknown): string {
  const issue = z.safeParse(schema, data, FIRST).error?.issues[0];
  const path = issue?.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return `data${path} ${issue?.message}`;
}

function fault(issue: z.core.$ZodRawIssue): string {
  if (issue.input === undefined) return 'is missing';
  switch (issue.code) {
    case 'invalid_type':
      return `is not of type ${typeName(issue)}`;
    case 'invalid_value':
      if (typeof issue.input !== typeof issue.values[0]) return `is not of type ${typeof issue.values[0]}`;
      return issue.values.length === 1
        ? `is not ${JSON.stringify(issue.values[0])}`
        : 'is not one of the allowed values';
    case 'too_small':
      return `is less than ${issue.minimum}`;
    case 'too_big':
      return `is more than ${issue.maximum}`;
    case 'invalid_format':
      return 'does not have the required format';
    default:
      return 'has an unknown field';
  }
}

/** The name that JSON Schema has for it. */
function typeName({ expected, inst }: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidType>): string {
  if (expected === 'record') return 'object';
  return expected === 'int' || inst instanceof z.ZodMiniNumberFormat ? 'integer' : expected;
}
