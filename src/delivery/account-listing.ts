import { UserError } from '../kernel/errors.js';
import { type Listing, ListingRefused } from '../platforms/account-listing.js';
import { type AccountOptions, OptionList } from '../platforms/account-options.js';
import type { Connection, Platform } from '../platforms/platform.js';
import { type AccessTokens, CredentialsRefused, type TokenOwner } from './access-tokens.js';
import { NoResponse, type PlatformClient } from './platform-client.js';

const REQUESTS_MAX = 60;
/** No request starts later than this. */
const TIME_MAX_MS = 20_000;
/** A shorter text could be part of any message. */
const SECRET_LENGTH_MIN = 6;

export interface ListingOptions {
  readonly accessToken: string | undefined;
  readonly nowMs: number;
  /** List what belongs to this account, instead of to the first ones. */
  readonly account?: string | undefined;
}

/**
 * Lists what the account of an access token has. What was found before a limit of time or requests is returned as an incomplete
 * list. Throws a `UserError` that says what to do, without secrets.
 */
export async function listAccount(
  platform: Platform,
  connection: Connection,
  client: Pick<PlatformClient, 'request'>,
  { accessToken, nowMs, account }: ListingOptions,
): Promise<AccountOptions> {
  if (!platform.listAccount)
    throw new UserError(`${platform.name} cannot list what an account has. Set its settings by hand.`);
  const list = new OptionList(platform.fields);
  const listing = platform.listAccount({ connection, accessToken, nowMs, account }, list);
  const hide = hidden([...Object.values(connection.secrets), accessToken ?? '']);
  try {
    await run(listing, list, (request) => client.request(platform, request, connection));
  } catch (error) {
    throw error instanceof ListingRefused ? new ListingRefused(error.kind, hide(error.message)) : error;
  }
  const { options, truncated } = list.result();
  return {
    options: options.map((option) =>
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
  let accessToken: string | undefined;
  try {
    accessToken = await tokens.get(owner, connection);
    try {
      return await listAccount(owner.platform, connection, client, { ...options, accessToken });
    } catch (error) {
      if (accessToken === undefined || !(error instanceof ListingRefused) || error.kind !== 'unauthorized') throw error;
      const fresh = await tokens.get(owner, connection, accessToken);
      return await listAccount(owner.platform, connection, client, { ...options, accessToken: fresh });
    }
  } catch (error) {
    if (error instanceof NoResponse) throw new UserError(`The account could not be listed: ${error.message}`);
    if (error instanceof CredentialsRefused)
      throw new UserError(
        `No access token could be obtained: ${error.message}. Sign in again, or set new credentials.`,
      );
    throw error;
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

/** Removes secrets, which a platform may repeat in its error messages. */
function hidden(secrets: readonly string[]): (text: string) => string {
  const removed = secrets.filter(({ length }) => length >= SECRET_LENGTH_MIN);
  return (text) => removed.reduce((rest, secret) => rest.replaceAll(secret, '…'), text);
}
