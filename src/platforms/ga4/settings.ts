import { oneOf, oneWord } from '../field-checks.js';
import type { Connection, Field } from '../platform.js';
import { isEventName, isParameterName } from './names.js';

export const fields: readonly Field[] = [
  {
    name: 'measurement_id',
    required: true,
    help: 'Of the web data stream, such as G-XXXXXXX: Admin > Data streams.',
    check: (value) => (/^G-[A-Z0-9]{4,20}$/.test(value) ? undefined : 'must look like G-XXXXXXX, in capitals'),
  },
  {
    name: 'api_secret',
    secret: true,
    required: true,
    help: 'Admin > Data streams > the stream > Measurement Protocol API secrets.',
    check: oneWord,
  },
  {
    name: 'synthetic_client_id',
    help: 'yes sends conversions without a _ga cookie too: each person then becomes a visitor of their own.',
    check: oneOf('yes', 'no'),
    fallback: 'no',
  },
];

/** A wrong name is never reported by Google Analytics: it has to be caught here. */
export function check({ settings }: Connection): string | undefined {
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith('event.') && !isEventName(value))
      return `${name} must be 1 to 40 letters, digits and underscores, begin with a letter and not be a reserved name`;
    if (name.startsWith('field.') && !isParameterName(name.slice('field.'.length)))
      return `${name}: a parameter has 1 to 40 letters, digits and underscores, first a letter, and no reserved prefix`;
  }
  return undefined;
}
