import { accessTokenExpires, credentialsProblem } from '../credentials.js';
import { actionsProblem } from '../event-mapping.js';
import { externalIdForm } from '../external-id.js';
import { visibleAscii } from '../fields.js';
import type { Connection, Field } from '../platform.js';

/** LinkedIn retires each version after a year, so it can be set without a new release of this service. */
export const API_VERSION = '202608';

const RULE_ID = /^\d{1,20}$/;
const RULE = 'the id of a conversion rule, digits only';

export const fields: readonly Field[] = [
  {
    name: 'access_token',
    secret: true,
    help: 'Token of the Direct API: Campaign Manager > Data > Signals manager. Or set client_id, client_secret and refresh_token of an app.',
    check: visibleAscii,
  },
  {
    name: 'client_id',
    help: 'Client id of your LinkedIn app, if it may refresh tokens: My apps > Auth.',
    check: visibleAscii,
  },
  { name: 'client_secret', secret: true, help: 'Client secret of the same app.', check: visibleAscii },
  {
    name: 'refresh_token',
    secret: true,
    help: 'Refresh token from the sign-in that approved the app; valid for 365 days, then sign in again.',
    check: visibleAscii,
  },
  {
    name: 'api_version',
    help: 'Value of the LinkedIn-Version header: a year and month such as 202608.',
    check: (value) => (/^20\d\d(?:0[1-9]|1[0-2])$/.test(value) ? undefined : 'must be a year and month such as 202608'),
    fallback: API_VERSION,
  },
  externalIdForm(undefined),
  accessTokenExpires,
];

export function check(connection: Connection): string | undefined {
  return credentialsProblem(connection) ?? mappingProblem(connection.settings);
}

function mappingProblem(settings: Connection['settings']): string | undefined {
  for (const [name, value] of Object.entries(settings)) {
    const problem = name.startsWith('event.') ? actionsProblem(name, value, RULE_ID, RULE) : undefined;
    if (problem !== undefined) return problem;
    if (name.startsWith('field.')) return `${name}: LinkedIn accepts no custom fields`;
  }
  return undefined;
}
