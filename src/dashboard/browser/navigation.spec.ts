import { findDestinations, pathOf, readPath, readShortcut, SITE_PAGES } from './navigation.js';

const SCOPE = {
  connections: ['meta', 'ga4:second', 'crm'],
  sites: ['a.example', 'b.example'],
  settings: [{ path: '/settings/tokens', title: 'API tokens' }],
};
const find = (text: string, site?: string, mayAddSites = false) =>
  findDestinations(text, { ...SCOPE, site, mayAddSites });

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
    expect(readShortcut('j', undefined)).toEqual({ shortcut: { kind: 'row', step: 1 } });
    expect(readShortcut('k', undefined)).toEqual({ shortcut: { kind: 'row', step: -1 } });
    expect(readShortcut('k', 'g')).toEqual({ shortcut: { kind: 'page', page: 'keys' } });
    expect(readShortcut('/', undefined)).toEqual({ shortcut: { kind: 'search' } });
  });

  it('finds pages by all the words that were typed, the current site first', () => {
    expect(find('sync log', 'b.example').map(({ title, detail }) => `${title} ${detail}`)).toEqual([
      'Sync log b.example',
      'Sync log a.example',
    ]);
    expect(find('keys a.ex')).toEqual([
      { kind: 'page', title: 'Inbound keys', detail: 'a.example', path: '/sites/a.example/keys' },
    ]);
    expect(find('nothing at all')).toEqual([]);
    expect(find('settings')).toEqual([
      { kind: 'page', title: 'API tokens', detail: 'Settings', path: '/settings/tokens' },
    ]);
    expect(find('add a site', undefined, true)).toMatchObject([{ path: '/sites/new' }]);
    expect(find('add a site')).toEqual([]);
  });

  it('finds a platform by its name, and no order that was not looked for', () => {
    expect(find('meta', 'a.example')).toEqual([
      {
        ...{ kind: 'platform', title: 'Meta', detail: 'its deliveries at a.example' },
        path: '/sites/a.example/sync-log?platform=meta',
      },
    ]);
    expect(find('ads', 'a.example').map(({ title }) => title)).toEqual(['Google Ads', 'Microsoft Ads']);
    expect(find('ORD-1', 'a.example')).toEqual([]);
  });

  it('finds a connection to a platform that is defined by data, and a further one', () => {
    const named = (text: string) => find(text, 'a.example').filter(({ kind }) => kind === 'platform');
    expect(named('crm')).toEqual([
      {
        ...{ kind: 'platform', title: 'crm', detail: 'its deliveries at a.example' },
        path: '/sites/a.example/sync-log?platform=crm',
      },
    ]);
    expect(named('second').map(({ title }) => title)).toEqual(['GA4 · second']);
  });

  it('reads a conversion from its address', () => {
    const id = '01a1e5b9-3fea-7b69-abe9-1a3f1faf7078';
    expect(readPath(`/sites/a.example/conversions/${id}`)).toEqual({
      site: 'a.example',
      page: 'conversions',
      item: id,
    });
  });
});
