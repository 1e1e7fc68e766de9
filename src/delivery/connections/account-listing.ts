import { UserError } from '../../kernel/errors.js';
import { ListingRefused } from '../../platforms/account-listing.js';
import { type AccountOptions, OptionList } from '../../platforms/account-options.js';
import { hideSecrets } from '../../platforms/hide-secrets.js';
import { type Connection, type Listing, type ListingCall, type Platform } from '../../platforms/platform.js';
import { type AccessTokens, CredentialsRefused, type TokenOwner } from './access-tokens.js';
import { NoResponse, PlatformClient } from './platform-client.js';

const REQUESTS_MAX = 60;
/** No request starts later than this. */
const TIME_MAX_MS = 20_000;
const REQUEST_TIMEOUT_MS = 10_000;
/** Lists are longer than the answers to conversions. */
const ANSWER_MAX_BYTES = 1024 * 1024;
/** In this process: each may take memory for an answer, and half a minute. */
const CONCURRENCY_MAX = 5;

export type ListingOptions = Omit<ListingCall, 'connection' | 'group'>;

let running = 0;

/** The client for `listAccount`. Close it afterwards. */
export function listingClient(allowPrivate: boolean): PlatformClient {
  return new PlatformClient(allowPrivate, REQUEST_TIMEOUT_MS, ANSWER_MAX_BYTES);
}

/**
 * Lists what the account of an access token has. What was found before a limit of time or requests is returned as an incomplete
 * list. Throws a `UserError` that says what to do, without secrets.
 */
export async function listAccount(
  platform: Platform,
  connection: Connection,
  client: Pick<PlatformClient, 'request'>,
  options: ListingOptions,
): Promise<AccountOptions> {
  if (!platform.listAccount)
    throw new UserError(`${platform.name} cannot list what an account has. Set its settings by hand.`);
  const list = new OptionList(platform.fields);
  const listing = platform.listAccount({ ...options, connection }, list);
  const hide = hideSecrets([...Object.values(connection.secrets), options.accessToken, options.app?.clientSecret]);
  if (running >= CONCURRENCY_MAX)
    throw new UserError('Several accounts are being listed at the moment. Try again in some seconds.');
  running += 1;
  try {
    await run(listing, list, (request) => client.request(platform, request, connection));
  } catch (error) {
    if (error instanceof NoResponse) throw new UserError(`The account could not be listed: ${error.message}`);
    throw error instanceof ListingRefused ? new ListingRefused(error.kind, hide(error.message)) : error;
  } finally {
    running -= 1;
  }
  const { options: found, truncated } = list.result();
  return {
    options: found.map((option) =>
      option.problem === undefined ? option : { ...option, problem: hide(option.problem) },
    ),
    truncated,
  };
}

/** Lists with a token of the connection, and once more with a new one if the platform refuses a token that was used before. */
export async function listConnection(
  owner: TokenOwner,
  connection: Connection,
  client: PlatformClient,
  tokens: AccessTokens,
  options: Omit<ListingOptions, 'accessToken'>,
): Promise<AccountOptions> {
  const accessToken = await tokenFor(owner, connection, tokens);
  try {
    return await listAccount(owner.platform, connection, client, { ...options, accessToken });
  } catch (error) {
    if (accessToken === undefined || !(error instanceof ListingRefused) || error.kind !== 'unauthorized') throw error;
    const fresh = await tokenFor(owner, connection, tokens, accessToken);
    return listAccount(owner.platform, connection, client, { ...options, accessToken: fresh });
  }
}

async function tokenFor(
  owner: TokenOwner,
  connection: Connection,
  tokens: AccessTokens,
  stale?: string,
): Promise<string | undefined> {
  try {
    return await tokens.get(owner, connection, stale);
  } catch (error) {
    if (!(error instanceof NoResponse || error instanceof CredentialsRefused)) throw error;
    const next = error instanceof NoResponse ? 'Try again later.' : 'Sign in again, or set new credentials.';
    throw new UserError(`No access token could be obtained: ${error.message}. ${next}`);
  }
}

type Send = (request: Parameters<PlatformClient['request']>[1]) => ReturnType<PlatformClient['request']>;

async function run(listing: Listing, list: OptionList, send: Send): Promise<void> {
  const deadline = performance.now() + TIME_MAX_MS;
  let step = listing.next();
  for (let requests = 0; !step.done; requests += 1) {
    if (requests >= REQUESTS_MAX || performance.now() >= deadline) {
      list.truncate();
      return;
    }
    step = listing.next(await send(step.value));
  }
}
