import { idAt, type ListingWords, listedIn, pages, tokenOf } from '../account-listing.js';
import { type OptionList } from '../account-options.js';
import { at, joined, listAt, textAt } from '../common-verdict.js';
import { endpointUrl, type Listing, type ListingCall, type PlatformRequest } from '../platform.js';
import { BASE } from './client.js';
import { API_VERSION } from './settings.js';

const PAGE_SIZE = '100';

const WORDS: ListingWords = {
  platform: 'Pinterest',
  renew: 'Sign in again with Pinterest.',
  permit: 'Sign in again and grant the scope ads:read; a conversion access token cannot list.',
};

/** The ad accounts. Their conversion tags are not listed: events are sent to the ad account. */
export function listAccount(call: ListingCall, list: OptionList): Listing {
  return pages(
    list,
    (bookmark) => accountsRequest(call, bookmark),
    (response) => {
      const { json } = response;
      const code = at(json, 'code');
      const reason = joined(typeof code === 'number' ? String(code) : undefined, textAt(json, 'message'));
      listedIn(response, WORDS, { reason });
      for (const row of listAt(json, 'items')) {
        const value = idAt(row, 'id');
        if (value !== undefined) list.add({ setting: 'ad_account_id', value, label: textAt(row, 'name') });
      }
      return textAt(json, 'bookmark');
    },
  );
}

function accountsRequest(call: ListingCall, bookmark: string | undefined): PlatformRequest {
  const { api_version = API_VERSION } = call.connection.settings;
  const query = new URLSearchParams({ page_size: PAGE_SIZE, ...(bookmark && { bookmark }) });
  return {
    method: 'GET',
    url: `${endpointUrl(call.connection, BASE, `/${api_version}/ad_accounts`)}?${query}`,
    headers: { authorization: `Bearer ${tokenOf(call)}` },
  };
}
