import { fitsCodePoints } from '../../../kernel/code-points.js';
import { containsEmail } from '../../../kernel/email.js';
import type { InboundField } from '../inbound-field.js';
import { PartProblems } from './parts.js';
import { fieldsOf, isAbsent, NAMES, NO_EMAIL_INSIDE, STORABLE } from './texts.js';

const KEYS_MAX = 20;
const KEY_MAX = 64;
const TEXT_MAX = 500;

export const customField: InboundField = {
  name: 'custom',
  schema: {
    type: 'object',
    description:
      'Values of your own, which connections can send: custom.<key> in a mapping. Personal: erased with the rest.',
    maxProperties: KEYS_MAX,
    propertyNames: { allOf: [NAMES, { minLength: 1, maxLength: KEY_MAX, ...NO_EMAIL_INSIDE }] },
    additionalProperties: {
      anyOf: [
        { type: 'string', maxLength: TEXT_MAX, pattern: STORABLE },
        { type: 'number' },
        { type: 'boolean' },
        { type: 'null' },
      ],
    },
    example: { profit: 41.5, coupon: 'SPRING', new_customer: true },
  },
  read: (sent, fields, reading) => {
    const entries = fieldsOf(sent);
    if (!entries) return 'custom must be an object';
    const problems = new PartProblems(reading);
    const custom: Record<string, string | number | boolean> = {};
    let count = 0;
    for (const [key, value] of entries) {
      if (!isKey(key)) {
        if (problems.add(`custom must have keys of 1 to ${KEY_MAX} characters without an email address`)) break;
        continue;
      }
      if (isAbsent(value)) continue;
      if (count === KEYS_MAX) {
        problems.add(`custom must have at most ${KEYS_MAX} keys`, 'the others are dropped');
        break;
      }
      if (!isValue(value)) {
        if (problems.add(`custom must have texts of at most ${TEXT_MAX} characters, numbers and booleans`)) break;
      } else {
        custom[key] = value;
        count += 1;
      }
    }
    if (count > 0) fields.custom = custom;
    return problems.result();
  },
};

function isKey(key: string): boolean {
  return key !== '' && fitsCodePoints(key, KEY_MAX) && !containsEmail(key);
}

function isValue(value: unknown): value is string | number | boolean {
  if (typeof value === 'string') return fitsCodePoints(value, TEXT_MAX);
  return typeof value === 'boolean' || Number.isFinite(value);
}
