import {
  type AnswerError,
  eachAccount,
  idAt,
  type ListingWords,
  listedIn,
  pages,
  queryOf,
  tokenOf,
} from '../account-listing.js';
import { type OptionList } from '../account-options.js';
import { at, joined, listAt, textAt } from '../common-verdict.js';
import {
  endpointUrl,
  type Listing,
  type ListingCall,
  type PlatformRequest,
  type PlatformResponse,
} from '../platform.js';

/** The Marketing API, which has its own host and version. */
const BASE = 'https://adsapi.snapchat.com';
/** The smallest that Snapchat allows is 50. */
const PAGE_SIZE = '100';

const WORDS: ListingWords = {
  platform: 'Snapchat',
  renew: 'Sign in again with Snapchat: a Conversions API token cannot list.',
  permit: 'Sign in again as a member of the organization, and grant the scope snapchat-marketing-api.',
};

/** Organizations, their ad accounts, and the pixels of these. */
export function* listAccount(call: ListingCall, list: OptionList): Listing {
  const accounts: string[] = [];
  yield* pages(
    list,
    (cursor) => get(call, '/me/organizations', { with_ad_accounts: 'true' }, cursor),
    (response) => {
      const json = listedIn(response, WORDS, errorOf(response));
      for (const row of listAt(json, 'organizations')) accounts.push(...accountsIn(at(row, 'organization'), list));
      return cursorIn(json);
    },
  );
  yield* eachAccount(list, accounts, call, (account) => pixels(account, call, list));
}

function accountsIn(organization: unknown, list: OptionList): string[] {
  const parent = idAt(organization, 'id');
  if (parent === undefined) return [];
  list.add({ value: parent, label: textAt(organization, 'name') });
  return listAt(organization, 'ad_accounts').flatMap((row) => {
    const value = idAt(row, 'id');
    return value !== undefined && list.add({ value, label: textAt(row, 'name'), parent }) ? [value] : [];
  });
}

function pixels(parent: string, call: ListingCall, list: OptionList): Listing {
  return pages(
    list,
    (cursor) => get(call, `/adaccounts/${parent}/pixels`, {}, cursor),
    (response) => {
      const json = listedIn(response, WORDS, errorOf(response));
      for (const row of listAt(json, 'pixels')) {
        const value = idAt(row, 'pixel', 'id');
        const label = textAt(row, 'pixel', 'name');
        if (value !== undefined) list.add({ setting: 'pixel_id', value, label, parent });
      }
      return cursorIn(json);
    },
  );
}

function cursorIn(json: unknown): string | undefined {
  return queryOf(at(json, 'paging', 'next_link'), 'cursor');
}

function get(
  call: ListingCall,
  path: string,
  query: Readonly<Record<string, string>>,
  cursor: string | undefined,
): PlatformRequest {
  const search = new URLSearchParams({ ...query, limit: PAGE_SIZE, ...(cursor && { cursor }) });
  return {
    method: 'GET',
    url: `${endpointUrl(call.connection, BASE, `/v1${path}`)}?${search}`,
    headers: { authorization: `Bearer ${tokenOf(call)}` },
  };
}

function errorOf({ json, status }: PlatformResponse): AnswerError {
  const reason = joined(textAt(json, 'error_code'), textAt(json, 'debug_message'));
  const isError = status === 200 && textAt(json, 'request_status')?.toUpperCase() !== 'SUCCESS';
  return { reason, ...(isError && { kind: 'refused' }) };
}
