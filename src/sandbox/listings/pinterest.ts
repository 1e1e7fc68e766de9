import { bearerToken, credentialFailure, jsonAnswer } from '../answers.js';
import type { SandboxAnswer } from '../double.js';
import { double } from '../doubles/pinterest.js';
import { type ListingDouble, pageOf } from './listing.js';

const PATH = '/v5/ad_accounts';

const ACCOUNTS = [
  { id: '549700000001', name: 'Sandbox Shop DE', country: 'DE', currency: 'EUR', permissions: ['OWNER'] },
  { id: '549700000002', name: 'Sandbox Shop FR', country: 'FR', currency: 'EUR', permissions: ['ADMIN'] },
  { id: '549700000003', name: 'Sandbox Shop IT', country: 'IT', currency: 'EUR', permissions: ['ANALYST'] },
];

export const listing: ListingDouble = {
  serves: ({ method, path }) => method === 'GET' && path === PATH,

  answer(request): SandboxAnswer {
    const refusal = credentialFailure(bearerToken(request));
    if (refusal) return double.fail(refusal, request);
    const page = pageOf(ACCOUNTS, request.query.get('bookmark'));
    if (!page) return double.fail('refuse', request);
    return jsonAnswer(200, { items: page.items, bookmark: page.next ?? null });
  },
};
