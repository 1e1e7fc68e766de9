import {
  type AnswerError,
  eachAccount,
  idAt,
  kindOfRow,
  ListingRefused,
  type ListingWords,
  listedIn,
  pages,
} from '../account-listing.js';
import { type OptionList } from '../account-options.js';
import { at, listAt, textAt } from '../common-verdict.js';
import { rowOf } from '../error-table.js';
import {
  endpointUrl,
  type Listing,
  type ListingCall,
  type PlatformRequest,
  type PlatformResponse,
} from '../platform.js';
import { CAMPAIGN_MANAGEMENT } from './client.js';
import { ERRORS } from './errors.js';
import { faultIn, reasonOf } from './offline-verdict.js';
import { isOffline, versionOf } from './settings.js';

const CUSTOMER_MANAGEMENT = 'https://clientcenter.api.bingads.microsoft.com';
const PAGE_SIZE = 100;
const NO_PERMISSION = 106;

const WORDS: ListingWords = {
  platform: 'Microsoft Advertising',
  renew: 'Sign in again with the Microsoft Advertising user, and check developer_token.',
  permit: 'Give the user access to the account in Microsoft Advertising, and check that developer_token is approved.',
};

interface Account {
  readonly id: string;
  readonly customer: string;
}

/** The accounts of the user, their UET tags, and the conversion goals that the mode of the connection can use. */
export function* listAccount(call: ListingCall, list: OptionList): Listing {
  requireCredentials(call);
  const user = yield post(call, customerManagement(call, '/User/Query'), { UserId: null });
  const userId = idAt(listedIn(user, WORDS, errorOf(user)), 'User', 'Id') ?? '';
  const accounts = new Map<string, Account>();
  let next = 0;
  yield* pages(
    list,
    () => accountsRequest(call, userId, next),
    (response) => {
      const rows = listAt(listedIn(response, WORDS, errorOf(response)), 'Accounts');
      for (const row of rows) addAccount(row, accounts, list);
      next += 1;
      return rows.length >= PAGE_SIZE ? String(next) : undefined;
    },
  );
  yield* eachAccount(list, [...accounts.keys()], call, (id) => tagsAndGoals(accounts.get(id) as Account, call, list));
}

function requireCredentials({ accessToken, connection }: ListingCall): void {
  if (accessToken === undefined)
    throw new ListingRefused(
      'forbidden',
      'Microsoft Advertising lists accounts only after a sign-in, or with the credentials of mode=offline: the token of a UET tag cannot. Set tag_id by hand.',
    );
  if (connection.secrets['developer_token'] === undefined)
    throw new ListingRefused(
      'forbidden',
      'Microsoft Advertising lists accounts only with a developer token: set developer_token.',
    );
}

function addAccount(row: unknown, accounts: Map<string, Account>, list: OptionList): void {
  const id = idAt(row, 'Id');
  const customer = idAt(row, 'ParentCustomerId');
  if (id === undefined || customer === undefined) return;
  const option = { setting: 'account_id', value: id, label: textAt(row, 'Name'), also: { customer_id: customer } };
  if (list.add(option)) accounts.set(id, { id, customer });
}

function* tagsAndGoals(account: Account, call: ListingCall, list: OptionList): Listing {
  const offline = isOffline(call.connection.settings);
  // A conversion goes to a tag or to a goal, as the mode says.
  if (!offline) {
    const response = yield post(call, campaignManagement(call, '/UetTags/QueryByIds'), { TagIds: null }, account);
    for (const row of listAt(listedIn(response, WORDS, errorOf(response)), 'UetTags')) {
      const value = idAt(row, 'Id');
      if (value !== undefined) list.add({ setting: 'tag_id', value, label: textAt(row, 'Name'), parent: account.id });
    }
  }
  const types = { ConversionGoalTypes: offline ? 'OfflineConversion' : 'Event' };
  const response = yield post(call, campaignManagement(call, '/ConversionGoals/QueryByIds'), types, account);
  for (const row of listAt(listedIn(response, WORDS, errorOf(response)), 'ConversionGoals')) {
    const name = textAt(row, 'Name');
    const value = offline ? name : textAt(row, 'ActionExpression');
    if (value && at(row, 'Status') !== 'Paused') list.add({ setting: 'event', value, label: name, parent: account.id });
  }
}

function accountsRequest(call: ListingCall, userId: string, page: number): PlatformRequest {
  return post(call, customerManagement(call, '/Accounts/Search'), {
    Predicates: [{ Field: 'UserId', Operator: 'Equals', Value: userId }],
    Ordering: [{ Field: 'Id', Order: 'Ascending' }],
    PageInfo: { Index: page, Size: PAGE_SIZE },
  });
}

function customerManagement({ connection }: ListingCall, path: string): string {
  const version = versionOf(connection.settings, 'offline_api_version');
  return endpointUrl(connection, CUSTOMER_MANAGEMENT, `/CustomerManagement/${version}${path}`);
}

function campaignManagement({ connection }: ListingCall, path: string): string {
  const version = versionOf(connection.settings, 'offline_api_version');
  return endpointUrl(connection, CAMPAIGN_MANAGEMENT, `/CampaignManagement/${version}${path}`);
}

function post(call: ListingCall, url: string, body: object, account?: Account): PlatformRequest {
  return {
    method: 'POST',
    url,
    headers: {
      authorization: `Bearer ${call.accessToken ?? ''}`,
      'content-type': 'application/json',
      developertoken: call.connection.secrets['developer_token'] ?? '',
      ...(account && { customerid: account.customer, customeraccountid: account.id }),
    },
    body: JSON.stringify(body),
  };
}

function errorOf({ json }: PlatformResponse): AnswerError {
  const fault = faultIn(json);
  if (fault === undefined) return {};
  const code = at(fault, 'Code');
  const reason = reasonOf(fault);
  if (typeof code !== 'number') return { reason };
  return { reason, kind: code === NO_PERMISSION ? 'forbidden' : (kindOfRow(rowOf(ERRORS, code)) ?? 'refused') };
}
