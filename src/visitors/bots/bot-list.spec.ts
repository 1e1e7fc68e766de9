import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AddressSet, addressKey } from './address-set.js';
import { type BotList, loadBotList } from './bot-list.js';

const folder = mkdtempSync(join(tmpdir(), 'cc-bot-list-'));
afterAll(() => rmSync(folder, { recursive: true }));

const load = (content: unknown): BotList => {
  const file = join(folder, 'list.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return loadBotList(file);
};

describe('the shipped bot list', () => {
  const { datacenters } = loadBotList();
  const set = new AddressSet(datacenters);
  const isDatacenter = (address: string) => set.has(addressKey(address) as NonNullable<ReturnType<typeof addressKey>>);

  it.each(['3.85.1.1', '34.90.1.1', '35.195.1.1', '20.50.1.1', '159.65.1.1', '95.216.1.1', '2a01:4f8::1'])(
    'contains the data-centre address %s',
    (address) => {
      expect(isDatacenter(address)).toBe(true);
    },
  );

  it('excludes private addresses, and Private Relay and WARP at Cloudflare, Akamai and Fastly', () => {
    const people = [
      '10.0.0.1',
      '192.168.1.1',
      '127.0.0.1',
      '::1',
      '104.28.1.1',
      '172.224.226.1',
      '146.75.166.1',
      '2606:54c0::1',
      '2a02:26f7::1',
    ];
    expect(people.filter(isDatacenter)).toEqual([]);
  });

  it('has no range wider than a provider can own', () => {
    expect(datacenters.filter(([base, bits]) => bits < (base.kind() === 'ipv4' ? 10 : 24))).toEqual([]);
  });
});

describe("an operator's bot list", () => {
  it('replaces the fields that it contains', () => {
    const own = load({
      version: 'ours-7',
      datacenters: [{ name: 'ours', ranges: ['192.0.2.0/24'] }],
      crawlers: ['ShopWatch'],
    });
    expect(own.version).toBe('ours-7');
    expect(own.datacenters).toHaveLength(1);
    expect(own.crawlers).toEqual(['shopwatch']);
    expect(own.httpClients).toEqual(loadBotList().httpClients);
  });

  it.each([
    ['{', 'it is not JSON'],
    [[], 'it is not a JSON object'],
    [{}, '"version" must be'],
    [{ version: 'a b' }, '"version" must be'],
    [{ version: '1', datacentres: [] }, 'unknown field "datacentres" (known: version,'],
    [{ version: '1', crawlers: ['ok', ''] }, '"crawlers" must be a list of texts, none empty'],
    [{ version: '1', browsers: 'all' }, '"browsers" must be a list'],
    [{ version: '1', datacenters: ['192.0.2.0/24'] }, 'each of "datacenters" needs "ranges"'],
    [{ version: '1', datacenters: [null] }, 'each of "datacenters" needs "ranges"'],
    [{ version: '1', datacenters: [{ ranges: ['192.0.2.0/99'] }] }, '"192.0.2.0/99" is neither an address nor a CIDR'],
  ])('is rejected with the reason: %j', (content, message) => {
    expect(() => load(content)).toThrow(message);
  });

  it('is rejected by its path when it does not exist', () => {
    expect(() => loadBotList('/nowhere/list.json')).toThrow(
      'The bot list /nowhere/list.json cannot be used: it cannot be read (ENOENT)',
    );
  });
});
