import type { ConnectionName } from '../../platforms/connection-name.js';
import { parseDefinition } from '../../platforms/defined/parse-definition.js';
import { platformOf } from '../../platforms/index.js';
import type { Settings } from '../../platforms/platform.js';
import type { SiteConnection } from '../../sites/connections/connection.js';
import { accountOf, connectionTo, connectionToSameAccount } from './account.js';

const connection = (platform: ConnectionName, settings: Settings, disconnected?: true) =>
  ({ platform, settings, disconnected }) as SiteConnection;

describe('connectionToSameAccount', () => {
  it.each<[string, SiteConnection, SiteConnection, ConnectionName | undefined]>([
    ['the same pixel', connection('meta', { pixel_id: '1' }), connection('meta:b', { pixel_id: '1' }), 'meta'],
    ['another pixel', connection('meta', { pixel_id: '1' }), connection('meta:b', { pixel_id: '2' }), undefined],
    [
      'a disconnected one',
      connection('meta', { pixel_id: '1' }, true),
      connection('meta:b', { pixel_id: '1' }),
      undefined,
    ],
    ['another platform', connection('snapchat', { pixel_id: '1' }), connection('meta', { pixel_id: '1' }), undefined],
    ['itself', connection('meta:b', { pixel_id: '1' }), connection('meta:b', { pixel_id: '1' }), undefined],
    ['an account that a secret names', connection('segment', {}), connection('segment:b', {}), undefined],
    ['a definition alone', connection('crm', { definition: '1' }), connection('crm:b', { definition: '1' }), undefined],
    [
      'another version of a definition',
      connection('crm', { definition: '1', account: 'a' }),
      connection('crm:b', { definition: '2', account: 'a' }),
      'crm',
    ],
  ])('decides whether another connection has the same account: %s', (_, other, made, expected) => {
    const crm = { name: 'crm', account: ['definition', 'account'] };
    expect(connectionToSameAccount(platformOf(made.platform) ?? crm, made, [other])).toBe(expected);
  });
});

it('has the account that the version of the definition names, whatever a later one names', () => {
  const definition = (account: string, url: string) =>
    parseDefinition(
      JSON.stringify({ name: 'crm', settings: { [account]: { help: 'Account.' } }, url, body: { id: '/event_id' } }),
      'crm.json',
    );
  const first = definition('account', 'https://crm.example/{account}');
  const second = definition('list', 'https://crm.example/lists/{list}');
  const settings = { definition: first.definition as string, account: 'shop-7' };
  const account = accountOf(second, settings);
  expect(account.settings).toEqual(settings);
  const connection = { settings: { definition: second.definition as string, list: '5' }, secrets: {} };
  expect(connectionTo(second, connection, account).settings).toEqual(settings);
});
