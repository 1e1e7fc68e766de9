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
import { isPermission } from './verdict.js';

const PAGE_SIZE = 100;

const WORDS: ListingWords = {
  platform: 'Meta',
  renew: 'Sign in again, or generate a new access_token.',
  permit: 'Sign in again and grant ads_read and business_management, or set the token of a system user with access.',
};

/** Businesses and ad accounts, and their datasets (pixels). */
export function* listAccount(call: ListingCall, list: OptionList): Listing {
  /** What is read of each of them. */
  const edges = new Map<string, string>();
  const collect = (edge: string) => (row: unknown) => {
    const value = idAt(row, 'id');
    if (value !== undefined && list.add({ value, label: textAt(row, 'name') })) edges.set(value, edge);
  };
  yield* ifAllowed(rowsOf('/me/businesses', call, list, collect('owned_pixels')));
  yield* rowsOf('/me/adaccounts', call, list, collect('adspixels'));
  yield* eachAccount(list, [...edges.keys()], call, (parent) =>
    rowsOf(`/${parent}/${edges.get(parent)}`, call, list, (row) => {
      const value = idAt(row, 'id');
      if (value !== undefined) list.add({ setting: 'pixel_id', value, label: textAt(row, 'name'), parent });
    }),
  );
}

/** A token without business_management may still list ad accounts. */
function* ifAllowed(listing: Listing): Listing {
  try {
    yield* listing;
  } catch (error) {
    if (!(error instanceof ListingRefused) || error.kind !== 'forbidden') throw error;
  }
}

function rowsOf(path: string, call: ListingCall, list: OptionList, each: (row: unknown) => void): Listing {
  return pages(
    list,
    (after) => edgeRequest(path, call, after),
    (response) => {
      const json = listedIn(response, WORDS, errorOf(response));
      for (const row of listAt(json, 'data')) each(row);
      // There is a cursor on the last page too.
      return at(json, 'paging', 'next') === undefined ? undefined : textAt(json, 'paging', 'cursors', 'after');
    },
  );
}

function edgeRequest(path: string, call: ListingCall, after: string | undefined): PlatformRequest {
  const { api_version = API_VERSION } = call.connection.settings;
  const query = new URLSearchParams({ fields: 'id,name', limit: String(PAGE_SIZE), ...(after && { after }) });
  return {
    method: 'GET',
    url: `${endpointUrl(call.connection, BASE, `/${api_version}${path}`)}?${query}`,
    headers: { authorization: `Bearer ${tokenOf(call)}` },
  };
}

function errorOf({ json }: PlatformResponse): AnswerError {
  const code = at(json, 'error', 'code');
  if (typeof code !== 'number') return {};
  const kind = isPermission(code) ? 'forbidden' : (kindOfRow(rowOf(ERRORS, code)) ?? 'refused');
  return { kind, reason: joined(String(code), textAt(json, 'error', 'message')) };
}
