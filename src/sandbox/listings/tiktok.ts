import { credentialOf, jsonAnswer } from '../answers.js';
import type { SandboxAnswer, SandboxRequest } from '../double.js';
import { double } from '../doubles/tiktok.js';
import { type ListingDouble, pageOf } from './listing.js';

const ADVERTISERS_PATH = '/open_api/v1.3/oauth2/advertiser/get/';
const PIXELS_PATH = '/open_api/v1.3/pixel/list/';
const USER_PATH = '/open_api/v1.3/user/info/';
const PAGE_SIZE_MAX = 20;

const ADVERTISERS: Readonly<Record<string, readonly (readonly [code: string, name: string])[]>> = {
  '7000000000000000001': [
    ['CSANDBOX00000000001', 'Web shop'],
    ['CSANDBOX00000000002', 'Landing pages'],
    ['CSANDBOX00000000003', 'Outlet'],
  ],
  '7000000000000000002': [['CSANDBOX00000000004', 'Boutique']],
};

export const listing: ListingDouble = {
  serves: ({ path }) => [ADVERTISERS_PATH, PIXELS_PATH, USER_PATH].includes(path),

  answer(request): SandboxAnswer {
    const credential = credentialOf(request.headers['access-token']);
    if (credential !== 'good') return double.fail(credential === 'forbidden' ? 'forbidden' : 'unauthorized', request);
    if (request.method !== 'GET') return { status: 405, headers: { allow: 'GET' }, body: '405 method not allowed' };
    if (request.path === USER_PATH) return answer(0, 'OK', { core_user_id: '1', display_name: 'Sandbox' });
    return request.path === ADVERTISERS_PATH ? advertisersAnswer(request) : pixelsAnswer(request);
  },
};

function advertisersAnswer({ query }: SandboxRequest): SandboxAnswer {
  for (const name of ['app_id', 'secret'])
    if (!query.get(name)) return invalid(`${name}: Missing data for required field`);
  if (query.get('secret')?.includes('bad')) return answer(40_105, 'App secret is incorrect.', {});
  const list = Object.keys(ADVERTISERS).map((advertiser_id, index) => ({
    advertiser_id,
    advertiser_name: `Sandbox Shop ${index + 1}`,
  }));
  return answer(0, 'OK', { list });
}

function pixelsAnswer(request: SandboxRequest): SandboxAnswer {
  const { query } = request;
  const pixels = ADVERTISERS[query.get('advertiser_id') ?? ''];
  if (!pixels) return double.fail('forbidden', request);
  const [page, size] = ['page', 'page_size'].map((name) => Number(query.get(name) ?? 1));
  if (!Number.isInteger(page) || !((size as number) <= PAGE_SIZE_MAX)) return invalid('page_size: at most 20');
  // Pages are counted from 1; the sandbox has its own size of a page.
  const total = Math.ceil(pixels.length / 2);
  const found = pageOf(pixels, String(((page as number) - 1) * 2));
  return answer(0, 'OK', {
    page_info: { page, page_size: size, total_number: pixels.length, total_page: total },
    pixels: (found?.items ?? []).map(([pixel_code, pixel_name], index) => ({
      pixel_id: `710000000000000000${index}`,
      pixel_code,
      pixel_name,
    })),
  });
}

function invalid(message: string): SandboxAnswer {
  return answer(40_002, message, {});
}

function answer(code: number, message: string, data: object): SandboxAnswer {
  return jsonAnswer(200, { code, message, request_id: 'sandbox', data });
}
