import { appFields, credentialsProblem } from '../credentials.js';
import { limitedDataUseField, requiredField, visibleAscii } from '../fields.js';
import type { Connection, Field } from '../platform.js';
import { isEventName } from './event-type.js';

export const fields: readonly Field[] = [
  requiredField('pixel_id', 'Id of the Reddit pixel, such as a2_abc123: Events Manager.', (value) =>
    /^[A-Za-z0-9_-]{1,64}$/.test(value) ? undefined : 'must be letters and digits such as a2_abc123',
  ),
  {
    name: 'access_token',
    secret: true,
    help: 'Conversion access token: Events Manager > Conversions API. It does not expire. Or sign in.',
    check: visibleAscii,
  },
  {
    name: 'test_id',
    help: 'Test id from Events Manager > Event Testing; used only by `platforms test`.',
    check: (value) =>
      /^[\x21-\x7e]{1,100}$/.test(value) ? undefined : 'must be the id that Event Testing shows, without spaces',
  },
  limitedDataUseField,
  ...appFields,
];

export function check(connection: Connection): string | undefined {
  return credentialsProblem(connection) ?? mappingProblem(connection);
}

function mappingProblem({ settings }: Connection): string | undefined {
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith('event.') && !isEventName(value)) return `${name} must be 1 to 64 characters`;
  }
  return undefined;
}
