import { bearerToken, credentialFailure, jsonAnswer } from '../answers.js';
import type { SandboxAnswer, SandboxRequest } from '../double.js';
import { double, headerFailure } from '../doubles/linkedin.js';
import { type ListingDouble, pageOf } from './listing.js';

const ACCOUNTS_PATH = '/rest/adAccounts';
const RULES_PATH = '/rest/conversions';
const ACCOUNT = /^urn:li:sponsoredAccount:(\d+)$/;

const ACCOUNTS = [
  { id: 500000001, name: 'Sandbox Shop DE', status: 'ACTIVE', type: 'BUSINESS' },
  { id: 500000002, name: 'Sandbox Shop FR', status: 'ACTIVE', type: 'BUSINESS' },
  { id: 500000003, name: 'Sandbox Shop IT', status: 'ACTIVE', type: 'BUSINESS' },
];
const rule = (id: number, name: string, type: string, conversionMethod = 'CONVERSIONS_API') => ({
  ...{ id, name, type, conversionMethod, enabled: true },
});
const RULES: Readonly<Record<string, readonly object[]>> = {
  '500000001': [
    rule(104001, 'Order', 'PURCHASE'),
    rule(104002, 'Enquiry', 'LEAD'),
    rule(104003, 'Of the Insight Tag', 'SIGN_UP', 'INSIGHT_TAG'),
  ],
  '500000002': [rule(104004, 'Commande', 'PURCHASE')],
  '500000003': [],
};

export const listing: ListingDouble = {
  serves: ({ method, path }) => method === 'GET' && (path === ACCOUNTS_PATH || path === RULES_PATH),

  answer(request): SandboxAnswer {
    const refusal = credentialFailure(bearerToken(request));
    if (refusal) return double.fail(refusal, request);
    return headerFailure(request) ?? (request.path === ACCOUNTS_PATH ? accountsAnswer(request) : rulesAnswer(request));
  },
};

function accountsAnswer(request: SandboxRequest): SandboxAnswer {
  const page = request.query.get('q') === 'search' ? pageOf(ACCOUNTS, request.query.get('pageToken')) : undefined;
  if (!page) return double.fail('refuse', request);
  return jsonAnswer(200, {
    elements: page.items,
    metadata: page.next === undefined ? {} : { nextPageToken: page.next },
  });
}

function rulesAnswer(request: SandboxRequest): SandboxAnswer {
  const { query } = request;
  const id = query.get('q') === 'account' ? ACCOUNT.exec(query.get('account') ?? '')?.[1] : undefined;
  const rules = RULES[id ?? ''];
  if (!rules) return double.fail('forbidden', request);
  const [start, count] = [Number(query.get('start') ?? 0), Number(query.get('count') ?? 10)];
  return jsonAnswer(200, { paging: { start, count, links: [] }, elements: rules.slice(start, start + count) });
}
