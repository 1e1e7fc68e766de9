import { bearerToken, credentialFailure, jsonAnswer } from '../answers.js';
import type { FailureAnswers, SandboxAnswer, SandboxRequest } from '../double.js';
import { type ListingDouble, pageOf } from './listing.js';

const ORGANIZATIONS_PATH = '/v1/me/organizations';
const PIXELS_PATH = /^\/v1\/adaccounts\/([\da-f-]{36})\/pixels$/;
const LIMIT_MIN = 50;
const LIMIT_MAX = 1_000;

const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const ORGANIZATIONS = [
  { id: id(1), name: 'Sandbox Shop', ad_accounts: [{ id: id(11), name: 'Sandbox Shop DE', status: 'ACTIVE' }] },
  { id: id(2), name: 'Sandbox Agency', ad_accounts: [{ id: id(12), name: 'Sandbox Shop FR', status: 'ACTIVE' }] },
  { id: id(3), name: 'Sandbox Friends', ad_accounts: [] },
];
const PIXELS: Readonly<Record<string, readonly object[]>> = {
  [id(11)]: [{ id: id(101), name: 'Web shop', ad_account_id: id(11), status: 'ACTIVE' }],
  [id(12)]: [{ id: id(102), name: 'Boutique', ad_account_id: id(12), status: 'ACTIVE' }],
};

const error = (status: number, error_code: string, debug_message: string): SandboxAnswer =>
  jsonAnswer(status, { request_status: 'ERROR', request_id: 'sandbox', debug_message, error_code });
const invalid = () => error(400, 'E1001', 'Invalid request');

const failures: FailureAnswers = {
  refuse: invalid,
  refuse_one: invalid,
  throttle: () => error(429, 'E1008', 'Too many requests'),
  server_error: () => error(500, 'E1000', 'Internal server error'),
  unauthorized: () => error(401, 'E1003', 'Unauthorized'),
  forbidden: () => error(403, 'E1004', 'Forbidden'),
};

/** The Marketing API, whose errors have another form than those of the Conversions API. */
export const listing: ListingDouble = {
  serves: ({ method, path }) => method === 'GET' && (path === ORGANIZATIONS_PATH || PIXELS_PATH.test(path)),

  answer(request): SandboxAnswer {
    const refusal = credentialFailure(bearerToken(request));
    if (refusal) return failures[refusal](request);
    const limit = Number(request.query.get('limit') ?? LIMIT_MIN);
    if (!(limit >= LIMIT_MIN && limit <= LIMIT_MAX)) return invalid();
    const account = PIXELS_PATH.exec(request.path)?.[1];
    if (account === undefined) return listed(request, 'organizations', 'organization', ORGANIZATIONS);
    const pixels = PIXELS[account];
    return pixels ? listed(request, 'pixels', 'pixel', pixels) : failures.forbidden(request);
  },

  failures,
};

function listed({ query, path }: SandboxRequest, name: string, each: string, items: readonly object[]): SandboxAnswer {
  const page = pageOf(items, query.get('cursor'));
  if (!page) return invalid();
  const paging = page.next === undefined ? {} : { next_link: `https://adsapi.snapchat.com${path}?cursor=${page.next}` };
  const rows = page.items.map((item) => ({ sub_request_status: 'SUCCESS', [each]: item }));
  return jsonAnswer(200, { request_status: 'SUCCESS', request_id: 'sandbox', paging, [name]: rows });
}
