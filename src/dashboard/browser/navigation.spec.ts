import { findDestinations, pathOf, readPath, readShortcut, SITE_PAGES } from './navigation.js';

describe('navigation of the dashboard', () => {
  it('reads every page from its own address', () => {
    for (const { page } of SITE_PAGES)
      expect(readPath(pathOf('shop.example', page))).toEqual({ site: 'shop.example', page });
  });

  it('reads no page from an address that names none', () => {
    expect(readPath('/sites/shop.example/nonsense')).toEqual({ site: 'shop.example' });
    expect(readPath('/settings/users')).toEqual({});
    expect(readPath('/')).toEqual({});
  });

  it('gives every page a key of its own', () => {
    expect(new Set(SITE_PAGES.map(({ key }) => key)).size).toBe(SITE_PAGES.length);
  });

  it('understands a page’s key only after g', () => {
    expect(readShortcut('g', undefined)).toEqual({ pending: 'g' });
    expect(readShortcut('i', 'g')).toEqual({ shortcut: { kind: 'page', page: 'integrations' } });
    expect(readShortcut('i', undefined)).toEqual({});
    expect(readShortcut('x', 'g')).toEqual({});
    expect(readShortcut('/', undefined)).toEqual({ shortcut: { kind: 'search' } });
  });

  it('finds pages by all the words that were typed, the current site first', () => {
    const sites = ['a.example', 'b.example'];
    expect(findDestinations('sync log', sites, 'b.example').map(({ title, detail }) => `${title} ${detail}`)).toEqual([
      'Sync log b.example',
      'Sync log a.example',
      'Order sync log b.example',
    ]);
    expect(findDestinations('keys a.ex', sites, undefined)).toEqual([
      { title: 'Inbound keys', detail: 'a.example', path: '/sites/a.example/keys' },
    ]);
    expect(findDestinations('nothing at all', sites, undefined)).toEqual([]);
  });

  it('finds an order or a conversion by its id', () => {
    expect(findDestinations(' ORD 1 ', ['a.example'], 'a.example')).toEqual([
      { title: 'Order ORD 1', detail: 'a.example', path: '/sites/a.example/conversions?order=ORD%201' },
    ]);
    const id = '01a1e5b9-3fea-7b69-abe9-1a3f1faf7078';
    expect(findDestinations(id, ['a.example'], 'a.example')).toEqual([
      { title: `Conversion ${id}`, detail: 'a.example', path: `/sites/a.example/conversions/${id}` },
    ]);
    expect(readPath(`/sites/a.example/conversions/${id}`)).toEqual({
      site: 'a.example',
      page: 'conversions',
      item: id,
    });
  });
});
