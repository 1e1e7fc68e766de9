import { bearerToken, credentialFailure, isJsonContentType, jsonAnswer } from '../answers.js';
import type { FailureAnswers, SandboxAnswer, SandboxRequest } from '../double.js';
import { offlineFailures } from '../doubles/microsoft-offline.js';
import { listIn, objectOf, parseJson } from '../values.js';
import { type ListingDouble, pageOf } from './listing.js';

const USER_PATH = '/CustomerManagement/v13/User/Query';
const ACCOUNTS_PATH = '/CustomerManagement/v13/Accounts/Search';
const TAGS_PATH = '/CampaignManagement/v13/UetTags/QueryByIds';
const GOALS_PATH = '/CampaignManagement/v13/ConversionGoals/QueryByIds';
const PATHS = [USER_PATH, ACCOUNTS_PATH, TAGS_PATH, GOALS_PATH];

const USER_ID = '600000001';
const CUSTOMER_ID = '250000001';
const ACCOUNTS = [
  { Id: '180000001', Name: 'Sandbox Shop DE', Number: 'F1490001', ParentCustomerId: CUSTOMER_ID },
  { Id: '180000002', Name: 'Sandbox Shop FR', Number: 'F1490002', ParentCustomerId: CUSTOMER_ID },
];
const GOALS = [
  { Id: '46000001', Name: 'Order', Type: 'Event', Status: 'Active', ActionExpression: 'purchase' },
  { Id: '46000002', Name: 'Enquiry', Type: 'Event', Status: 'Active', ActionExpression: 'lead' },
  { Id: '46000003', Name: 'Signed contract', Type: 'OfflineConversion', Status: 'Active' },
];

const invalid = () =>
  jsonAnswer(400, {
    TrackingId: 'sandbox',
    OperationErrors: [{ Code: 100, ErrorCode: 'NullRequest', Message: 'The request is not valid.' }],
  });
const failures: FailureAnswers = { ...offlineFailures, refuse: invalid, refuse_one: invalid };

export const listing: ListingDouble = {
  serves: ({ method, path }) => method === 'POST' && PATHS.includes(path),

  answer(request): SandboxAnswer {
    for (const token of [bearerToken(request), request.headers['developertoken']]) {
      const refusal = credentialFailure(token);
      if (refusal) return failures[refusal](request);
    }
    const body = isJsonContentType(request) ? parseJson(request.body) : undefined;
    if (body === undefined) return invalid();
    if (request.path === USER_PATH) return jsonAnswer(200, { User: { Id: USER_ID, UserName: 'sandbox' } });
    if (request.path === ACCOUNTS_PATH) return accountsAnswer(body);
    return ofAccount(request, body);
  },

  failures,
};

function accountsAnswer(body: unknown): SandboxAnswer {
  const { Field, Operator, Value } = objectOf(listIn(body, 'Predicates')[0]);
  const { Index, Size } = objectOf(objectOf(body)['PageInfo']);
  const isByUser = Field === 'UserId' && Operator === 'Equals' && Value === USER_ID;
  if (!isByUser || !Number.isInteger(Index) || !Number.isInteger(Size)) return invalid();
  return jsonAnswer(200, { Accounts: Index === 0 ? pageOf(ACCOUNTS, null)?.items : [] });
}

function ofAccount(request: SandboxRequest, body: unknown): SandboxAnswer {
  const { customerid, customeraccountid } = request.headers;
  const account = ACCOUNTS.find(({ Id }) => Id === customeraccountid);
  if (!account || customerid !== account.ParentCustomerId) return failures.forbidden(request);
  if (request.path === TAGS_PATH) {
    const UetTags = [{ Id: `560000${account.Id.slice(-2)}`, Name: `Tag of ${account.Name}`, TrackingStatus: 'Active' }];
    return jsonAnswer(200, { UetTags, PartialErrors: [] });
  }
  const { ConversionGoalIds, ConversionGoalTypes } = objectOf(body);
  // Microsoft refuses an empty list.
  if (Array.isArray(ConversionGoalIds) && ConversionGoalIds.length === 0) return invalid();
  const types = String(ConversionGoalTypes).split(/[ ,]+/);
  return jsonAnswer(200, { ConversionGoals: GOALS.filter(({ Type }) => types.includes(Type)), PartialErrors: [] });
}
