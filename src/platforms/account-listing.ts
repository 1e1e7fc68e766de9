import { UserError } from '../kernel/errors.js';
import { cleanLabel, OPTION_ID, type OptionList } from './account-options.js';
import { at, redact } from './common-verdict.js';
import type { ErrorRow } from './error-table.js';
import type { Call, Listing, ListingCall, PlatformRequest, PlatformResponse } from './platform.js';

export type RefusalKind = 'unauthorized' | 'forbidden' | 'throttled' | 'unavailable' | 'refused';

/** The platform does not list what the account has. */
export class ListingRefused extends UserError {
  constructor(
    readonly kind: RefusalKind,
    message: string,
  ) {
    super(message);
  }
}

const PAGES_MAX = 10;
/** What they have is listed of so many accounts, unless the call is for a certain one. */
const ACCOUNTS_OPENED_MAX = 10;
/** It becomes a part of the next address. */
const CURSOR = /^[\x21-\x7e]{1,2000}$/;

/** Requests page after page. `read` returns the cursor of the next one, if there is one. */
export function* pages(
  list: OptionList,
  request: (cursor: string | undefined) => PlatformRequest,
  read: (response: PlatformResponse) => string | undefined,
): Listing {
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const next = read(yield request(cursor));
    if (next === undefined || next === '' || next === cursor) return;
    if (!CURSOR.test(next)) break;
    cursor = next;
  }
  list.truncate();
}

/**
 * Lists what the accounts have: the one that the call is for, or else the first ones. An account that cannot be listed says so, and
 * the others are still listed.
 */
export function* eachAccount(
  list: OptionList,
  accounts: readonly string[],
  { account: chosen }: ListingCall,
  listOne: (account: string) => Listing,
): Listing {
  if (chosen !== undefined && !accounts.includes(chosen))
    throw new ListingRefused(
      'refused',
      `The account ${cleanLabel(chosen)} is not among those that can be listed. Leave it out to see them.`,
    );
  let opened = 0;
  for (const account of accounts) {
    if (chosen === undefined ? opened >= ACCOUNTS_OPENED_MAX : account !== chosen) {
      list.mark(account, { unlisted: true });
      continue;
    }
    opened += 1;
    try {
      yield* listOne(account);
    } catch (error) {
      if (!(error instanceof ListingRefused) || !isOfOneAccount(error)) throw error;
      list.mark(account, { problem: error.message });
    }
  }
}

function isOfOneAccount({ kind }: ListingRefused): boolean {
  return kind === 'forbidden' || kind === 'refused';
}

/** What a platform says in its error messages. */
export interface ListingWords {
  readonly platform: string;
  /** What to do after a refused token. */
  readonly renew: string;
  /** What to do if the token may not list. */
  readonly permit: string;
}

function refusalOf(
  kind: RefusalKind,
  { platform, renew, permit }: ListingWords,
  { status }: PlatformResponse,
  reason?: string,
  advice = permit,
): ListingRefused {
  const said = redact(reason ?? '') || `HTTP ${status}`;
  switch (kind) {
    case 'unauthorized':
      return new ListingRefused(kind, `${platform} does not accept the access token (${said}). ${renew}`);
    case 'forbidden':
      return new ListingRefused(kind, `${platform} does not allow the list (${said}). ${advice}`);
    case 'throttled':
      return new ListingRefused(kind, `${platform} gets too many requests (${said}). Try again in some minutes.`);
    case 'unavailable':
      return new ListingRefused(kind, `${platform} has a temporary problem (${said}). Try again later.`);
    case 'refused':
      return new ListingRefused(kind, `${platform} did not list the account (${said}). Set the ids by hand.`);
  }
}

/** What an answer says about an error, if the HTTP status does not say enough. */
export interface AnswerError {
  readonly kind?: RefusalKind | undefined;
  readonly reason?: string | undefined;
  /** What to do, if it is not the platform's usual advice. */
  readonly advice?: string | undefined;
}

/** The JSON of an answer. Throws if the answer is an error, or no JSON object. */
export function listedIn(response: PlatformResponse, words: ListingWords, error: AnswerError = {}): unknown {
  const refused = refusalIn(response, words, error);
  if (refused) throw refused;
  return response.json;
}

export function refusalIn(
  response: PlatformResponse,
  words: ListingWords,
  { kind = kindOfStatus(response), reason, advice }: AnswerError = {},
): ListingRefused | undefined {
  const { json } = response;
  const isObject = typeof json === 'object' && json !== null;
  if (kind === undefined && isObject) return undefined;
  return refusalOf(kind ?? 'refused', words, response, reason, advice);
}

/** By the platform's error code. */
export function kindOfRow(row: ErrorRow | undefined): RefusalKind | undefined {
  switch (row?.verdict) {
    case undefined:
    case 'delivered':
      return undefined;
    case 'unauthorized':
    case 'throttled':
      return row.verdict;
    case 'server_error':
      return 'unavailable';
    default:
      return 'refused';
  }
}

/** A parameter in the address of the next page. Only this part of it is used: the address itself may be of another host. */
export function queryOf(address: unknown, name: string): string | undefined {
  if (typeof address !== 'string') return undefined;
  const question = address.indexOf('?');
  return question < 0 ? undefined : (new URLSearchParams(address.slice(question)).get(name) ?? undefined);
}

/** An id, which platforms write as text or as a number. */
export function idAt(value: unknown, ...path: (string | number)[]): string | undefined {
  const found = at(value, ...path);
  const id = typeof found === 'number' && Number.isSafeInteger(found) ? String(found) : found;
  return typeof id === 'string' && OPTION_ID.test(id) ? id : undefined;
}

/** The token of a sign-in or a refresh, or else the one that is set. */
export function tokenOf({ accessToken, connection }: Call): string {
  return accessToken ?? connection.secrets['access_token'] ?? '';
}

/** By the HTTP status alone; undefined for a 2xx. */
function kindOfStatus({ status }: PlatformResponse): RefusalKind | undefined {
  if (status >= 200 && status < 300) return undefined;
  if (status === 401) return 'unauthorized';
  if (status === 403) return 'forbidden';
  if (status === 429) return 'throttled';
  return status === 408 || status >= 500 ? 'unavailable' : 'refused';
}
