import { actionsProblem } from '../event-mapping.js';
import { requiredField, requiredSecret } from '../fields.js';
import type { Connection, Field } from '../platform.js';

export const API_VERSION = '12';

const EVENT_ID = /^[A-Za-z0-9-]{1,60}$/;
const EVENT = 'the id of an event, such as tw-o8z6j-o87ne';

export const fields: readonly Field[] = [
  requiredField('pixel_id', 'Id of the X pixel, such as o8z6j: Tools > Events Manager.', (value) =>
    /^[A-Za-z0-9]{1,20}$/.test(value) ? undefined : 'must be letters and digits such as o8z6j',
  ),
  requiredSecret(
    'pixel_token',
    'Token of the pixel: Events Manager > Install Pixel > Conversion API > Generate access token.',
  ),
  {
    name: 'currency',
    help: 'Amounts in other currencies than this one are left out. Without it every amount is sent with its currency.',
    check: (value) => (/^[A-Z]{3}$/.test(value) ? undefined : 'must be a currency code such as EUR'),
  },
  {
    name: 'api_version',
    help: 'Version of the X Ads API.',
    check: (value) => (/^\d{1,3}$/.test(value) ? undefined : 'must be a number such as 12'),
    fallback: API_VERSION,
  },
];

export function check({ settings }: Connection): string | undefined {
  for (const [name, value] of Object.entries(settings)) {
    const problem = name.startsWith('event.') ? actionsProblem(name, value, EVENT_ID, EVENT) : undefined;
    if (problem !== undefined) return problem;
    if (name.startsWith('field.')) return `${name}: X accepts no custom fields`;
  }
  return undefined;
}
