import { bearerToken, credentialFailure, jsonAnswer } from '../answers.js';
import type { SandboxAnswer } from '../double.js';
import { double, hasDefaultUserAgent } from '../doubles/reddit.js';
import { type ListingDouble, pageOf } from './listing.js';

const MEMBER_PATH = '/api/v3/me';
const BUSINESSES_PATH = '/api/v3/me/businesses';
const PIXELS_PATH = /^\/api\/v3\/businesses\/([\da-f-]{36})\/pixels$/;

const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const BUSINESSES = [
  { id: id(1), name: 'Sandbox Shop' },
  { id: id(2), name: 'Sandbox Agency' },
  { id: id(3), name: 'Sandbox Friends' },
];
const PIXELS: Readonly<Record<string, readonly object[]>> = {
  [id(1)]: [{ id: 'a2_sandbox1', name: 'Web shop' }],
  [id(2)]: [{ id: 'a2_sandbox2', name: 'Boutique' }],
  [id(3)]: [],
};

export const listing: ListingDouble = {
  serves: ({ method, path }) =>
    method === 'GET' && (path === MEMBER_PATH || path === BUSINESSES_PATH || PIXELS_PATH.test(path)),

  answer(request): SandboxAnswer {
    if (hasDefaultUserAgent(request)) return double.fail('throttle', request);
    const refusal = credentialFailure(bearerToken(request));
    if (refusal) return double.fail(refusal, request);
    if (request.path === MEMBER_PATH)
      return jsonAnswer(200, { data: { id: 't2_sandbox', reddit_username: 'sandbox' } });
    const business = PIXELS_PATH.exec(request.path)?.[1];
    const items = business === undefined ? BUSINESSES : PIXELS[business];
    if (!items) return double.fail('forbidden', request);
    const page = pageOf<object>(items, request.query.get('page.token'));
    if (!page) return jsonAnswer(400, { message: 'Bad Request' });
    const next_url =
      page.next === undefined ? null : `https://ads-api.reddit.com${request.path}?page.token=${page.next}`;
    return jsonAnswer(200, { data: page.items, pagination: { next_url, previous_url: null } });
  },
};
