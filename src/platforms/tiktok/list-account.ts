import {
  type AnswerError,
  eachAccount,
  idAt,
  kindOfRow,
  ListingRefused,
  type ListingWords,
  listedIn,
  pages,
  tokenOf,
} from '../account-listing.js';
import { type OptionList } from '../account-options.js';
import { at, joined, listAt, textAt } from '../common-verdict.js';
import { rowOf } from '../error-table.js';
import {
  endpointUrl,
  type Listing,
  type ListingCall,
  type PlatformRequest,
  type PlatformResponse,
} from '../platform.js';
import { BASE } from './client.js';
import { ERRORS } from './errors.js';
import { API_VERSION } from './settings.js';
import { NO_PERMISSION } from './verdict.js';

/** The largest that TikTok allows. */
const PAGE_SIZE = '20';

const WORDS: ListingWords = {
  platform: 'TikTok',
  renew: 'Sign in again with TikTok.',
  permit: 'Sign in again as an admin or operator of the advertiser account, and allow the app to read pixels.',
};

/** The advertisers that allowed the app, and their pixels. */
export function* listAccount(call: ListingCall, list: OptionList): Listing {
  const response = yield advertisersRequest(call);
  const advertisers: string[] = [];
  for (const row of listAt(listedIn(response, WORDS, errorOf(response)), 'data', 'list')) {
    const value = idAt(row, 'advertiser_id');
    if (value !== undefined && list.add({ value, label: textAt(row, 'advertiser_name') })) advertisers.push(value);
  }
  yield* eachAccount(list, advertisers, call, (advertiser) => pixels(advertiser, call, list));
}

function pixels(parent: string, call: ListingCall, list: OptionList): Listing {
  return pages(
    list,
    (page) => get(call, '/pixel/list/', { advertiser_id: parent, page: page ?? '1', page_size: PAGE_SIZE }),
    (response) => {
      const json = listedIn(response, WORDS, errorOf(response));
      for (const row of listAt(json, 'data', 'pixels')) {
        const value = idAt(row, 'pixel_code');
        if (value !== undefined) list.add({ setting: 'pixel_code', value, label: textAt(row, 'pixel_name'), parent });
      }
      const page = Number(at(json, 'data', 'page_info', 'page'));
      return page < Number(at(json, 'data', 'page_info', 'total_page')) ? String(page + 1) : undefined;
    },
  );
}

/** TikTok names the advertisers only to the app that they have allowed, which identifies itself in the query. */
function advertisersRequest(call: ListingCall): PlatformRequest {
  if (call.app === undefined)
    throw new ListingRefused(
      'forbidden',
      'TikTok lists advertisers only for an OAuth app that they have allowed: sign in with TikTok, or set pixel_code by hand.',
    );
  return get(call, '/oauth2/advertiser/get/', { app_id: call.app.clientId, secret: call.app.clientSecret });
}

function get(call: ListingCall, path: string, query: Readonly<Record<string, string>>): PlatformRequest {
  const { api_version = API_VERSION } = call.connection.settings;
  return {
    method: 'GET',
    url: `${endpointUrl(call.connection, BASE, `/open_api/${api_version}${path}`)}?${new URLSearchParams(query)}`,
    headers: { 'access-token': tokenOf(call) },
  };
}

/** TikTok answers errors with HTTP 200 too. */
function errorOf({ json }: PlatformResponse): AnswerError {
  const code = at(json, 'code');
  if (code === 0) return {};
  if (typeof code !== 'number') return { reason: textAt(json, 'message') };
  const kind = NO_PERMISSION.includes(code) ? 'forbidden' : (kindOfRow(rowOf(ERRORS, code)) ?? 'refused');
  return { kind, reason: joined(String(code), textAt(json, 'message')) };
}
