import { E164 } from '../hash-personal.js';
import { identifyingClickIds } from './fields/click-ids.js';
import { DIGEST_PATTERN } from './fields/hashed.js';
import { EXTERNAL_ID_MAX, OPTIONAL_FIELDS } from './fields/optional-fields.js';
import { anyValue, NAMES, NOT_BLANK } from './fields/texts.js';
import type { BodyReading, InboundField } from './inbound-field.js';
import { SPECIFIED_FIELDS } from './inbound-fields.js';

const ABSENT = { enum: [null] };
const ABSENT_OR_EMPTY = { enum: [null, ''] };

const DROPPED = { description: 'Any other value is not used, and named in `X-CC-Warning`.', ...anyValue(2) };

/** The schema of a field with other values that the endpoint accepts, such as those that are the same as an absent field. */
function withOthers({ name, schema }: InboundField, ...others: object[]): [string, Readonly<Record<string, unknown>>] {
  const { description, example, default: value, ...constraint } = schema;
  const anyOf = [constraint, ...others];
  return [name, { description, example, ...(value !== undefined && { default: value }), anyOf }];
}

const EMAIL = SPECIFIED_FIELDS[0] as InboundField;
const HASHED_EMAIL = SPECIFIED_FIELDS[1] as InboundField;
const EVENT = SPECIFIED_FIELDS[2] as InboundField;

/** A schema of a body in which the person is known by something. */
interface Identified {
  readonly required: readonly string[];
  readonly properties: Readonly<Record<string, object>>;
}

const BY_EMAIL: readonly Identified[] = [
  { required: ['email'], properties: { email: { type: 'string', minLength: 1 } } },
  {
    required: ['hashed_email'],
    properties: { email: ABSENT_OR_EMPTY, hashed_email: HASHED_EMAIL.schema },
  },
];

/** Without an email. Other spellings of a phone are read, too; which of them can be dialled is not for a schema. */
const BY_OTHERS: readonly Identified[] = [
  { phone: { type: 'string', anyOf: [{ pattern: E164.source }, { pattern: DIGEST_PATTERN }] } },
  { hashed_phone: { type: 'string', pattern: DIGEST_PATTERN } },
  {
    externalId: {
      anyOf: [
        { type: 'string', maxLength: EXTERNAL_ID_MAX, pattern: NOT_BLANK },
        { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      ],
    },
  },
  { clickIds: identifyingClickIds },
].map((identifier) => ({
  required: Object.keys(identifier),
  properties: { email: ABSENT_OR_EMPTY, hashed_email: ABSENT_OR_EMPTY, ...identifier },
}));

/** The request body as JSON Schema, for the OpenAPI document. It refers to `ANY_VALUES` of the components. */
export function bodySchema({ isStrict, withoutEmail }: Pick<BodyReading, 'isStrict' | 'withoutEmail'>) {
  const identifiedBy = withoutEmail
    ? 'It needs an email, a phone, an external id or a click id.'
    : 'A site with `--identify-by any` accepts it without an email, too, with a phone, an external id or a click id.';
  const optional = isStrict
    ? 'An optional field that is not valid is answered with 400.'
    : 'A site with `--strict-fields yes` answers an optional field that is not valid with 400.';
  return {
    type: 'object',
    description: `One conversion. ${identifiedBy} ${optional} Unknown fields are ignored and named in \`X-CC-Warning\`, and null is the same as absent. No text may contain \\u0000 or half of a surrogate pair, also where it is ignored.`,
    properties: Object.fromEntries([
      withOthers(EMAIL, ABSENT_OR_EMPTY),
      // Not checked where there is an email, so its constraint is below.
      withOthers(HASHED_EMAIL, anyValue(2)),
      [EVENT.name, EVENT.schema],
      ...SPECIFIED_FIELDS.slice(3).map((field) => withOthers(field, ABSENT)),
      ...OPTIONAL_FIELDS.map((field) => withOthers(field, ABSENT_OR_EMPTY, ...(isStrict ? [] : [DROPPED]))),
    ]) as Record<string, Readonly<Record<string, unknown>>>,
    required: ['event'],
    propertyNames: NAMES,
    additionalProperties: anyValue(2),
    anyOf: withoutEmail ? [...BY_EMAIL, ...BY_OTHERS] : BY_EMAIL,
  };
}
