import { type AnswerError, eachAccount, idAt, type ListingWords, listedIn, refusalIn } from '../account-listing.js';
import { type OptionList } from '../account-options.js';
import { at, joined, listAt, textAt } from '../common-verdict.js';
import {
  endpointUrl,
  type Listing,
  type ListingCall,
  type PlatformRequest,
  type PlatformResponse,
} from '../platform.js';
import { GOOGLE_ADS, googleAdsHeaders } from './client.js';
import { isUpload, versionOf } from './settings.js';

const ROWS_MAX = 500;
const MANAGERS_MAX = 10;

const WORDS: ListingWords = {
  platform: 'Google Ads',
  renew: 'Sign in again with the Google account, or set a new refresh_token.',
  permit: 'Give the Google account access to the Google Ads account, and grant the scope auth/adwords when signing in.',
};

/** What to do about errors of the Cloud project, which signing in again does not fix. */
const PROJECT_ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /^(DEVELOPER_TOKEN_|CLOUD_PROJECT_NOT_APPROVED)/,
    'Apply for access on the Google Ads API Overview page of the Cloud project of client_id.',
  ],
  [/^SERVICE_DISABLED$/, 'Enable the Google Ads API in the Cloud project of client_id.'],
  [/^ACCESS_TOKEN_SCOPE_INSUFFICIENT$/, 'Sign in again and grant the scope auth/adwords.'],
];

const SUITS: Readonly<Record<string, 'purchase' | 'lead' | 'signup'>> = {
  PURCHASE: 'purchase',
  SIGNUP: 'signup',
  IMPORTED_LEAD: 'lead',
  SUBMIT_LEAD_FORM: 'lead',
  QUALIFIED_LEAD: 'lead',
  CONVERTED_LEAD: 'lead',
};

/** Removes the manager of an earlier choice. */
const DIRECT = { also: { login_customer_id: '' } };

/** A customer, and the account that gives access to it. */
interface Customer {
  readonly id: string;
  readonly login: string;
}

/** Customers with direct access, those below managers, and their conversion actions. */
export function* listAccount(call: ListingCall, list: OptionList): Listing {
  const found = yield accessibleRequest(call);
  const direct = listAt(listedIn(found, WORDS, errorOf(found)), 'resourceNames').flatMap(
    (name) => idOfResource(name) ?? [],
  );
  const first = call.connection.settings['login_customer_id'] ?? call.connection.settings['customer_id'];
  const logins = [...direct].sort((a, b) => Number(b === first) - Number(a === first));
  const isDirect = new Set(direct);
  const customers: Customer[] = [];
  for (const login of logins.slice(0, MANAGERS_MAX))
    customers.push(...(yield* customersBelow(login, isDirect, call, list)));
  if (logins.length > MANAGERS_MAX) list.truncate();
  const ids = customers.map(({ id }) => id);
  yield* eachAccount(list, ids, call, (id) => {
    const customer = customers.find((one) => one.id === id) as Customer;
    return conversionActions(customer, call, list);
  });
}

function* customersBelow(
  login: string,
  isDirect: ReadonlySet<string>,
  call: ListingCall,
  list: OptionList,
): Generator<PlatformRequest, Customer[], PlatformResponse> {
  const response = yield searchRequest(call, { id: login, login }, CLIENTS_QUERY);
  const refused = refusalIn(response, WORDS, errorOf(response));
  // Also listed: accounts that were cancelled, which cannot be read.
  if (refused && refused.kind !== 'forbidden') throw refused;
  if (refused) {
    if (list.add({ setting: 'customer_id', value: login, label: login }))
      list.mark(login, { problem: refused.message });
    return [];
  }
  const rows = listAt(response.json, 'results').map((row) => at(row, 'customerClient'));
  if (rows.length >= ROWS_MAX) list.truncate();
  const own = rows.find((row) => idAt(row, 'id') === login);
  const customers: Customer[] = [];
  for (const row of [own ?? { id: login }, ...rows]) {
    const id = idAt(row, 'id');
    // A customer with direct access needs no manager.
    if (id === undefined || (id !== login && isDirect.has(id))) continue;
    const below = id === login ? DIRECT : { also: { login_customer_id: login }, parent: login };
    const label = textAt(row, 'descriptiveName');
    if (list.add({ setting: 'customer_id', value: id, label, ...below })) customers.push({ id, login });
  }
  return customers;
}

function* conversionActions(customer: Customer, call: ListingCall, list: OptionList): Listing {
  const response = yield searchRequest(call, customer, actionsQuery(isUpload(call.connection.settings)));
  const rows = listAt(listedIn(response, WORDS, errorOf(response)), 'results').map((row) =>
    at(row, 'conversionAction'),
  );
  if (rows.length >= ROWS_MAX) list.truncate();
  for (const row of rows) {
    const value = idAt(row, 'id');
    if (value === undefined || !/^\d+$/.test(value)) continue;
    const suits = SUITS[textAt(row, 'category') ?? ''];
    list.add({
      setting: 'event',
      value,
      label: textAt(row, 'name'),
      parent: customer.id,
      ...(suits && { suits }),
    });
  }
}

/** The account itself is in the first row. */
const CLIENTS_QUERY =
  'SELECT customer_client.id, customer_client.descriptive_name, customer_client.manager, customer_client.level ' +
  "FROM customer_client WHERE customer_client.status = 'ENABLED' AND customer_client.hidden = FALSE " +
  `ORDER BY customer_client.level, customer_client.descriptive_name LIMIT ${ROWS_MAX}`;

/** The Data Manager also adds to the conversions of a tag, which have the type WEBPAGE. */
function actionsQuery(upload: boolean): string {
  const types = upload ? "('UPLOAD_CLICKS')" : "('UPLOAD_CLICKS', 'WEBPAGE')";
  return (
    'SELECT conversion_action.id, conversion_action.name, conversion_action.type, conversion_action.category ' +
    `FROM conversion_action WHERE conversion_action.status = 'ENABLED' AND conversion_action.type IN ${types} ` +
    `ORDER BY conversion_action.name LIMIT ${ROWS_MAX}`
  );
}

function accessibleRequest(call: ListingCall): PlatformRequest {
  const version = versionOf(call.connection.settings, 'upload_api_version');
  return {
    method: 'GET',
    url: endpointUrl(call.connection, GOOGLE_ADS, `/${version}/customers:listAccessibleCustomers`),
    headers: googleAdsHeaders(call, undefined),
  };
}

function searchRequest(call: ListingCall, { id, login }: Customer, query: string): PlatformRequest {
  const version = versionOf(call.connection.settings, 'upload_api_version');
  return {
    method: 'POST',
    url: endpointUrl(call.connection, GOOGLE_ADS, `/${version}/customers/${id}/googleAds:search`),
    headers: { ...googleAdsHeaders(call, login), 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  };
}

/** Id in a name such as `customers/1234567890`. */
function idOfResource(name: unknown): string | undefined {
  return typeof name === 'string' ? /^customers\/(\d{10})$/.exec(name)?.[1] : undefined;
}

function errorOf({ json }: PlatformResponse): AnswerError {
  const code = codeOf(json);
  const advice = PROJECT_ADVICE.find(([codes]) => codes.test(code ?? ''))?.[1];
  return { reason: joined(code, textAt(json, 'error', 'message')), advice };
}

/** The code of the Google Ads API, else the reason of the Google API, else its status. */
function codeOf(json: unknown): string | undefined {
  const details = listAt(json, 'error', 'details');
  for (const detail of details) {
    const codes = at(detail, 'errors', 0, 'errorCode');
    const code = typeof codes === 'object' && codes !== null ? Object.values(codes)[0] : textAt(detail, 'reason');
    if (typeof code === 'string') return code;
  }
  return textAt(json, 'error', 'status');
}
