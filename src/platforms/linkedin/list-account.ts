import { type AnswerError, eachAccount, idAt, type ListingWords, listedIn, pages } from '../account-listing.js';
import { type AccountOption, type OptionList } from '../account-options.js';
import { at, joined, listAt, textAt } from '../common-verdict.js';
import { type Listing, type ListingCall, type PlatformRequest, type PlatformResponse } from '../platform.js';
import { accountsRequest, get } from './client.js';

const PAGE_SIZE = 100;
const DIGITS = /^\d+$/;

const WORDS: ListingWords = {
  platform: 'LinkedIn',
  renew: 'Sign in again with LinkedIn, or set a new access_token.',
  permit: 'Sign in again with the scopes r_ads and rw_conversions, as a member with a role in the ad account.',
};

const SUITS: Readonly<Record<string, AccountOption['suits']>> = {
  PURCHASE: 'purchase',
  LEAD: 'lead',
  QUALIFIED_LEAD: 'lead',
  SIGN_UP: 'signup',
  COMPLETE_SIGNUP: 'signup',
};

/** The ad accounts of the member, and their conversion rules for this API. */
export function* listAccount(call: ListingCall, list: OptionList): Listing {
  const accounts: string[] = [];
  yield* pages(
    list,
    (token) => accountsRequest(call, PAGE_SIZE, token),
    (response) => {
      const json = listedIn(response, WORDS, errorOf(response));
      for (const row of listAt(json, 'elements')) {
        const value = idAt(row, 'id');
        if (value === undefined || !DIGITS.test(value)) continue;
        if (list.add({ value, label: textAt(row, 'name') })) accounts.push(value);
      }
      return textAt(json, 'metadata', 'nextPageToken');
    },
  );
  yield* eachAccount(list, accounts, call, (account) => rules(account, call, list));
}

function rules(parent: string, call: ListingCall, list: OptionList): Listing {
  let read = 0;
  return pages(
    list,
    (start) => rulesRequest(parent, call, start ?? '0'),
    (response) => {
      const rows = listAt(listedIn(response, WORDS, errorOf(response)), 'elements');
      for (const row of rows) addRule(row, parent, list);
      read += rows.length;
      return rows.length >= PAGE_SIZE ? String(read) : undefined;
    },
  );
}

/** Conversions can be sent to rules of this method only, and LinkedIn ignores them while the rule is disabled. */
function addRule(row: unknown, parent: string, list: OptionList): void {
  const value = idAt(row, 'id');
  const isUsable = textAt(row, 'conversionMethod') === 'CONVERSIONS_API' && at(row, 'enabled') !== false;
  if (value === undefined || !DIGITS.test(value) || !isUsable) return;
  const suits = SUITS[textAt(row, 'type') ?? ''];
  list.add({ setting: 'event', value, label: textAt(row, 'name'), parent, ...(suits && { suits }) });
}

function rulesRequest(account: string, call: ListingCall, start: string): PlatformRequest {
  const urn = encodeURIComponent(`urn:li:sponsoredAccount:${account}`);
  return get(call, `/rest/conversions?q=account&account=${urn}&start=${start}&count=${PAGE_SIZE}`);
}

function errorOf({ json, status }: PlatformResponse): AnswerError {
  const reason = joined(textAt(json, 'code'), textAt(json, 'message'));
  // The version of the API has been retired.
  return status === 426 ? { reason: joined(reason, 'set a current api_version') } : { reason };
}
