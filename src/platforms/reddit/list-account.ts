import { eachAccount, idAt, type ListingWords, listedIn, pages, queryOf, tokenOf } from '../account-listing.js';
import { type OptionList } from '../account-options.js';
import { at, listAt, textAt } from '../common-verdict.js';
import { endpointUrl, type Listing, type ListingCall, type PlatformRequest } from '../platform.js';
import { BASE, USER_AGENT } from './client.js';
import { reasonOf } from './verdict.js';

const PAGE_SIZE = '100';

const WORDS: ListingWords = {
  platform: 'Reddit',
  renew: 'Sign in again with Reddit: a conversion access token cannot list.',
  permit: 'Sign in again as a member of the business, and grant the scope adsread.',
};

/** Businesses and their pixels. */
export function* listAccount(call: ListingCall, list: OptionList): Listing {
  const businesses: string[] = [];
  yield* rowsOf('/me/businesses', call, list, (row) => {
    const value = idAt(row, 'id');
    if (value !== undefined && list.add({ value, label: textAt(row, 'name') })) businesses.push(value);
  });
  yield* eachAccount(list, businesses, call, (parent) =>
    rowsOf(`/businesses/${parent}/pixels`, call, list, (row) => {
      const value = idAt(row, 'id');
      if (value !== undefined) list.add({ setting: 'pixel_id', value, label: textAt(row, 'name'), parent });
    }),
  );
}

function rowsOf(path: string, call: ListingCall, list: OptionList, each: (row: unknown) => void): Listing {
  return pages(
    list,
    (token) => pageRequest(path, call, token),
    (response) => {
      const json = listedIn(response, WORDS, { reason: reasonOf(response.json) });
      for (const row of listAt(json, 'data')) each(row);
      return queryOf(at(json, 'pagination', 'next_url'), 'page.token');
    },
  );
}

function pageRequest(path: string, call: ListingCall, token: string | undefined): PlatformRequest {
  const query = new URLSearchParams({ 'page.size': PAGE_SIZE, ...(token && { 'page.token': token }) });
  return {
    method: 'GET',
    url: `${endpointUrl(call.connection, BASE, `/api/v3${path}`)}?${query}`,
    headers: { authorization: `Bearer ${tokenOf(call)}`, 'user-agent': USER_AGENT },
  };
}
