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
    expect(findDestinations('sync', sites, 'b.example').map(({ detail }) => detail)).toEqual([
      'b.example',
      'a.example',
    ]);
    expect(findDestinations('keys a.ex', sites, undefined)).toEqual([
      { title: 'Inbound keys', detail: 'a.example', path: '/sites/a.example/keys' },
    ]);
    expect(findDestinations('nothing at all', sites, undefined)).toEqual([]);
  });
});
