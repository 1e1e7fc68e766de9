import type { InboundField } from '../inbound-field.js';
import { PartProblems } from './parts.js';
import { fieldsOf, isAbsent, NO_EMAIL_INSIDE, readPlainText, STORABLE } from './texts.js';

export const UTM_FIELDS = ['source', 'medium', 'campaign', 'term', 'content', 'id'] as const;
const TEXT_MAX = 500;

const KNOWN: ReadonlySet<string> = new Set(UTM_FIELDS);

export const utmField: InboundField = {
  name: 'utm',
  schema: {
    type: 'object',
    description: 'Campaign that brought the customer, used where no visit is matched. Personal: erased with the rest.',
    properties: Object.fromEntries(
      UTM_FIELDS.map((name) => [
        name,
        { type: ['string', 'null'], maxLength: TEXT_MAX, pattern: STORABLE, ...NO_EMAIL_INSIDE },
      ]),
    ),
    additionalProperties: false,
    example: { source: 'google', medium: 'cpc', campaign: 'spring' },
  },
  read: (sent, fields, reading) => {
    const entries = fieldsOf(sent);
    if (!entries) return 'utm must be an object';
    const problems = new PartProblems(reading);
    const utm: Record<string, string> = {};
    for (const [name, value] of entries) {
      if (!KNOWN.has(name)) {
        if (problems.add(`utm must have no other names than ${UTM_FIELDS.join(', ')}`)) break;
      } else if (!isAbsent(value)) {
        const text = readUtm(value);
        if (text) utm[name] = text;
        else if (
          text === undefined &&
          problems.add(`utm.${name} must be text of at most ${TEXT_MAX} characters without an email address`)
        )
          break;
      }
    }
    if (Object.keys(utm).length > 0) fields.utm = { ...fields.utm, ...utm };
    return problems.result();
  },
};

export function readUtm(value: unknown): string | undefined {
  return readPlainText(value, TEXT_MAX);
}

/** The UTM field that a parameter of an address has; undefined if it has none. */
export function utmNameOf(parameter: string): string | undefined {
  const name = parameter.startsWith('utm_') ? parameter.slice('utm_'.length) : '';
  return KNOWN.has(name) ? name : undefined;
}
