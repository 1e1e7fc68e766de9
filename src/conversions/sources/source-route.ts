import { isUuid } from '../../kernel/uuid.js';

export const SOURCES_PATH = '/__cc/sources';

/** `/__cc/sources/<source>/<key id>`; undefined for another path. */
export function routeSource(url: string): { readonly source: string; readonly keyId: string } | undefined {
  const { pathname } = new URL(url, 'http://host');
  const [source = '', keyId = '', ...others] = pathname.slice(SOURCES_PATH.length + 1).split('/');
  return others.length === 0 && source !== '' && isUuid(keyId) ? { source, keyId: keyId.toLowerCase() } : undefined;
}
