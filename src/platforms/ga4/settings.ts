import { oneOf, requiredField, requiredSecret } from '../fields.js';
import type { Connection, Field } from '../platform.js';
import { isEventName, isParameterName } from './names.js';

export const fields: readonly Field[] = [
  requiredField(
    'measurement_id',
    'Measurement id of the web data stream, such as G-XXXXXXX: Admin > Data streams.',
    (value) => (/^G-[A-Z0-9]{4,20}$/.test(value) ? undefined : 'must have the format G-XXXXXXX, in upper case'),
  ),
  requiredSecret(
    'api_secret',
    'API secret of that stream: Admin > Data streams > the stream > Measurement Protocol API secrets.',
  ),
  {
    name: 'synthetic_client_id',
    help: 'yes: conversions without a _ga cookie are sent too; each person then appears as a separate visitor.',
    check: oneOf('yes', 'no'),
    fallback: 'no',
  },
];

/** Google Analytics never reports an invalid name, so it has to be refused here. */
export function check({ settings }: Connection): string | undefined {
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith('event.') && !isEventName(value))
      return `${name} must be 1 to 40 letters, digits and underscores, start with a letter and not be a reserved name`;
    if (name.startsWith('field.') && !isParameterName(name.slice('field.'.length)))
      return `${name}: a parameter name has 1 to 40 letters, digits and underscores, starts with a letter and has no reserved prefix`;
  }
  return undefined;
}
