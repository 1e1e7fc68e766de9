import { bearerToken, credentialFailure, jsonAnswer } from '../answers.js';
import type { SandboxAnswer } from '../double.js';
import { double } from '../doubles/meta.js';
import { type ListingDouble, pageOf } from './listing.js';

const PATH = /^\/v\d+\.\d+\/(me|\d+|act_\d+)\/(businesses|adaccounts|owned_pixels|adspixels)$/;

/** The pixel itself. The sandbox has all of them, as conversions are accepted for all. */
const PIXEL = /^\/v\d+\.\d+\/(\d+)$/;

const dataset = (id: string, name: string) => ({ id, name });
const EDGES: Readonly<Record<string, readonly { readonly id: string; readonly name: string }[]>> = {
  'me/businesses': [{ id: '900000000000001', name: 'Sandbox Business' }],
  'me/adaccounts': [
    { id: 'act_900000000000011', name: 'Sandbox Shop DE' },
    { id: 'act_900000000000012', name: 'Sandbox Shop FR' },
    { id: 'act_900000000000013', name: 'Sandbox Shop IT' },
  ],
  '900000000000001/owned_pixels': [dataset('900000000000101', 'Web shop'), dataset('900000000000102', 'Stores')],
  'act_900000000000011/adspixels': [dataset('900000000000101', 'Web shop')],
  'act_900000000000012/adspixels': [dataset('900000000000103', 'Boutique')],
  'act_900000000000013/adspixels': [],
};

/** The Graph API. The sandbox knows the token only as a header, so that it does not appear in addresses. */
export const listing: ListingDouble = {
  serves: ({ method, path }) => method === 'GET' && (PATH.test(path) || PIXEL.test(path)),

  answer(request): SandboxAnswer {
    const refusal = credentialFailure(bearerToken(request));
    if (refusal) return double.fail(refusal, request);
    const pixel = PIXEL.exec(request.path)?.[1];
    if (pixel !== undefined) return jsonAnswer(200, { id: pixel });
    const [, node, edge] = PATH.exec(request.path) ?? [];
    const page = pageOf(EDGES[`${node}/${edge}`] ?? [], request.query.get('after'));
    if (EDGES[`${node}/${edge}`] === undefined || !page || request.query.get('fields') !== 'id,name')
      return double.fail('refuse', request);
    const { items, next } = page;
    const paging = {
      cursors: { before: '0', after: next ?? 'end' },
      // The real address contains the access token too.
      ...(next !== undefined && {
        next: `https://graph.facebook.com${request.path}?access_token=leaked&after=${next}`,
      }),
    };
    return jsonAnswer(200, { data: items, paging });
  },
};
