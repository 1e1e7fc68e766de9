import { InMemoryLog } from '../../../test/support/in-memory-log.js';
import { uuidv7 } from '../../kernel/uuid.js';
import { type ConversionSearch, findConversions } from './find-conversions.js';

const SITE = { host: 'shop.example' };
const log = new InMemoryLog();

/** A conversion with the outcomes of its deliveries. */
async function receive(orderId: string, outcomes: Readonly<Record<string, string>>, data = {}, type = 'received') {
  const conversionId = uuidv7();
  const opening = {
    type: `conversion.${type}.v1`,
    data: { conversionId, orderId, event: 'purchase', platforms: Object.keys(outcomes), trial: false, ...data },
    reference: orderId,
  };
  const attempts = Object.entries(outcomes).flatMap(([platform, status]) =>
    status === '' ? [] : [{ type: `conversion.${status}.v1`, data: { conversionId, platform, attempt: 1, status } }],
  );
  const events = [opening, ...attempts] as never;
  await log.append({
    ...{ category: 'conversion', stream: conversionId, expected: 'any' },
    ...{ site: SITE.host, actor: 'system', events },
  });
}

/** Orders of all pages, newest first. */
async function orders(search: Partial<ConversionSearch>, limit = 2): Promise<string[]> {
  const found: string[] = [];
  let cursor: number | undefined;
  do {
    const page = await findConversions(log, SITE, { ...search, limit, cursor }, 'secret');
    expect(page.found.length).toBeLessThanOrEqual(limit);
    found.push(...page.found.map(({ opening }) => opening.data.orderId as string));
    cursor = page.next;
  } while (cursor !== undefined);
  return found;
}

beforeAll(async () => {
  await receive('A', { meta: 'delivered', tiktok: 'failed' }, { source: 'website' });
  await receive('B', { meta: 'delivered', tiktok: '' }, { event: 'lead' });
  await receive('C', {}, {}, 'filtered');
  await receive('D', { meta: 'failed' }, { delivery: { source: 'shopify' } });
  await receive('A', {}, {}, 'deduplicated');
  await receive('E', { meta: 'failed', tiktok: 'delivered' });
});

describe('the search for conversions', () => {
  it.each<[Partial<ConversionSearch>, string[]]>([
    [{}, ['E', 'A', 'D', 'C', 'B', 'A']],
    [{ outcome: 'refused' }, ['E', 'D', 'A']],
    [{ outcome: 'refused', connection: 'meta' }, ['E', 'D']],
    [{ outcome: 'waiting' }, ['B']],
    [{ outcome: 'filtered' }, ['C']],
    [{ outcome: 'duplicate' }, ['A']],
    [{ connection: 'tiktok' }, ['E', 'B', 'A']],
    [{ event: 'lead' }, ['B']],
    [{ source: 'shopify' }, ['D']],
    [{ source: 'website' }, ['A']],
    [{ order: 'A' }, ['A', 'A']],
    [{ order: 'A', outcome: 'refused' }, ['A']],
    [{ order: 'A', event: 'lead' }, []],
    [{ status: 'filtered', connection: 'meta' }, []],
  ])('finds all with %j once, newest first, whatever the size of the pages', async (search, expected) => {
    for (const limit of [1, 2, 50]) expect(await orders(search, limit)).toEqual(expected);
  });

  it('finds a conversion by its id, if it matches the rest and is of the site', async () => {
    const { found } = await findConversions(log, SITE, { event: 'lead', limit: 1 }, undefined);
    const conversion = found[0]?.opening.data.conversionId as string;
    expect(await orders({ conversion })).toEqual(['B']);
    expect(await orders({ conversion, order: 'B', outcome: 'waiting' })).toEqual(['B']);
    expect(await orders({ conversion, event: 'purchase' })).toEqual([]);
    expect(await orders({ conversion, order: 'A' })).toEqual([]);
    const elsewhere = await findConversions(log, { host: 'b.example' }, { conversion, limit: 1 }, undefined);
    expect(elsewhere.found).toEqual([]);
  });

  it('says what became of each delivery', async () => {
    const { found } = await findConversions(log, SITE, { event: 'lead', limit: 1 }, undefined);
    expect(found[0]?.deliveries).toEqual([
      { platform: 'meta', status: 'delivered' },
      { platform: 'tiktok', status: 'queued' },
    ]);
  });
});
