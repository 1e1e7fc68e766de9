import { isUuid } from '../../kernel/uuid.js';

export const SOURCES_PATH = '/__cc/sources';

/** `/__cc/sources/<source>/<key id>`; undefined for another path. */
export function routeSource(url: string): { readonly source: string; readonly keyId: string } | undefined {
  const [path = ''] = url.split('?', 1);
  const [source = '', keyId = '', ...others] = path.slice(SOURCES_PATH.length + 1).split('/');
  return others.length === 0 && source !== '' && isUuid(keyId) ? { source, keyId: keyId.toLowerCase() } : undefined;
}
