import type { CommandBus } from '@nestjs/cqrs';
import type { Logger } from '../../kernel/logger.js';
import type { SiteConnection } from '../../sites/connections/connection.js';
import type { LoadedConnection, LoadedSite, SiteDirectory } from '../../sites/site-directory.js';
import { Connections } from './connections.js';

const SITE_CONNECTION = {
  platform: 'meta',
  state: 'active',
  settings: { pixel_id: '1' },
  secretNames: ['access_token'],
  endpoint: 'https://gateway.example',
} as unknown as SiteConnection;

describe('Connections', () => {
  let bySite: Map<string, LoadedConnection>;
  let connections: Connections;

  beforeEach(() => {
    const open = { connection: SITE_CONNECTION, secrets: { access_token: 't' }, missingSecrets: [] };
    bySite = new Map([['meta', open]]);
    const site = { site: { host: 'shop.example' }, connections: bySite } as unknown as LoadedSite;
    connections = new Connections(
      { find: (host: string) => (host === 'shop.example' ? site : undefined) } as unknown as SiteDirectory,
      undefined as unknown as Logger,
      undefined as unknown as CommandBus,
    );
  });

  it('finds a connected platform with its settings, secrets and endpoint', () => {
    expect(connections.find('shop.example', 'meta')).toMatchObject({
      site: { host: 'shop.example' },
      platform: { name: 'meta' },
      siteConnection: SITE_CONNECTION,
      connection: { settings: { pixel_id: '1' }, secrets: { access_token: 't' }, endpoint: 'https://gateway.example' },
      state: 'active',
    });
  });

  it('finds neither an unknown site nor a platform that is not connected', () => {
    expect(connections.find('other.example', 'meta')).toBeUndefined();
    expect(connections.find('shop.example', 'segment')).toBeUndefined();
  });

  it('treats a connection as parked while a secret cannot be read', () => {
    bySite.set('meta', { connection: SITE_CONNECTION, secrets: {}, missingSecrets: ['access_token'] });
    expect(connections.find('shop.example', 'meta')).toMatchObject({
      siteConnection: { state: 'active' },
      state: 'parked',
    });
  });
});
