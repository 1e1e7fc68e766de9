import fc from 'fast-check';
import { InMemoryLog } from '../../test/support/in-memory-log.js';
import { refuseForeign } from './refuse-taken.js';
import { parseHost, SiteRepository } from './site-repository.js';

const OWN = 'shop.example';

async function withSites(others: Readonly<Record<string, readonly string[]>>, own = OWN) {
  const sites = new SiteRepository(new InMemoryLog());
  for (const [host, aliases] of Object.entries({ [own]: [], ...others }))
    await sites.add(host, 'cli', () => ({ type: 'site.registered.v1', data: { host, aliases } }));
  return sites;
}

async function refusalOf(sites: SiteRepository, name: string, own = OWN, seen: readonly string[] = [own]) {
  const refused = refuseForeign(sites, [], [parseHost(name)], { host: own }, (host) => seen.includes(host));
  return refused.then(
    () => undefined,
    (error: Error) => error.message,
  );
}

describe('a caller who sees one site', () => {
  it.each([
    ['www.shop.example', OWN, undefined],
    ['WWW.Shop.Example.', OWN, undefined],
    ['a.b.shop.example', OWN, undefined],
    ['shop.example.com', OWN, 'only callers with access to all sites'],
    ['myshop.example', OWN, 'only callers with access to all sites'],
    ['example', OWN, 'only callers with access to all sites'],
    ['127.0.0.1', OWN, 'only callers with access to all sites'],
    ['[::1]', OWN, 'only callers with access to all sites'],
    ['localhost', OWN, 'only callers with access to all sites'],
    // Above its own host, but of the same domain.
    ['shop.co.uk', 'www.shop.co.uk', undefined],
    ['co.uk', 'www.shop.co.uk', 'only callers with access to all sites'],
    ['other.co.uk', 'shop.co.uk', 'only callers with access to all sites'],
    ['www.shop1.myshopify.com', 'shop1.myshopify.com', undefined],
    ['shop2.myshopify.com', 'shop1.myshopify.com', 'only callers with access to all sites'],
    ['myshopify.com', 'shop1.myshopify.com', 'only callers with access to all sites'],
    ['www.bücher.de', 'xn--bcher-kva.de', undefined],
    ['www.bucher.de', 'xn--bcher-kva.de', 'only callers with access to all sites'],
    ['127.0.0.2', '127.0.0.1', 'only callers with access to all sites'],
    ['www.localhost', 'localhost', 'only callers with access to all sites'],
  ])('may add hosts of the domain of its site only: %s to %s: %s', async (name, own, refusal) => {
    const refused = await refusalOf(await withSites({}, own), name, own);
    if (refusal === undefined) expect(refused).toBeUndefined();
    else expect(refused).toContain(refusal);
  });

  it.each([
    ['other.shop.example', 'is in use.'],
    ['Other.Shop.Example.', 'is in use.'],
    ['below.other.shop.example', 'or lies above or below'],
    ['alias.shop.example', 'is in use.'],
    ['x.alias.shop.example', 'or lies above or below'],
    ['deep.shop.example', 'or lies above or below'],
    ['elsewhere.example', 'is in use.'],
  ])('learns of %s only that it is in use', async (name, refusal) => {
    const others = { 'other.shop.example': ['alias.shop.example', 'very.deep.shop.example'], 'elsewhere.example': [] };
    const sites = await withSites(others);
    const refused = await refusalOf(sites, name);
    expect(refused).toContain(refusal);
    expect(refused?.replace(parseHost(name), '')).not.toMatch(/other|elsewhere/);
    // Who sees both is told which.
    const named = await refusalOf(sites, name, OWN, [OWN, 'other.shop.example', 'elsewhere.example']);
    expect(named).toMatch(/site (?:other\.shop|elsewhere)\.example/);
  });

  it('gets no host of another site, and none that overlaps one, whatever the hosts are', async () => {
    const label = fc.constantFrom('a', 'b', 'www', 'shop');
    const host = fc
      .tuple(
        fc.array(label, { maxLength: 3 }),
        fc.constantFrom('shop.example', 'b.example', 'x.co.uk', 'one.github.io'),
      )
      .map(([labels, domain]) => [...labels, domain].join('.'));
    const drawn = fc.uniqueArray(host, { minLength: 3, maxLength: 6 });
    const property = fc.asyncProperty(drawn, async ([own = '', name = '', first = '', ...aliases]) => {
      const refused = await refusalOf(await withSites({ [first]: aliases }, own), name, own);
      const isOfDomain = ['shop.example', 'b.example', 'x.co.uk', 'one.github.io'].some((domain) =>
        [own, name].every((each) => each === domain || each.endsWith(`.${domain}`)),
      );
      const isFree = [first, ...aliases].every(
        (taken) => `.${name}`.endsWith(`.${taken}`) === false && `.${taken}`.endsWith(`.${name}`) === false,
      );
      expect(refused === undefined).toBe(isOfDomain && isFree);
    });
    await fc.assert(property, { numRuns: 300 });
  });
});
