export const INBOUND_PATH = '/__cc/inbound';

export type InboundRoute =
  | { readonly kind: 'receive' }
  | { readonly kind: 'receipt'; readonly id: string }
  | { readonly kind: 'receipt'; readonly orderId: string; readonly event: string | undefined }
  | { readonly kind: 'refused'; readonly allow: 'POST' | 'GET' }
  | { readonly kind: 'unknown' };

const RECEIVE: InboundRoute = { kind: 'receive' };

/** What a method and an address at or below `/__cc/inbound` ask for. */
export function routeInbound(method: string | undefined, url: string): InboundRoute {
  if (method === 'POST' && url === INBOUND_PATH) return RECEIVE;
  const { pathname, searchParams } = new URL(url, 'http://host');
  if (pathname === INBOUND_PATH) {
    if (method === 'POST') return RECEIVE;
    const orderId = searchParams.get('orderId');
    // Without an order there is nothing to look up: then this path is for posting only.
    if (method !== 'GET' || orderId === null) return { kind: 'refused', allow: 'POST' };
    return { kind: 'receipt', orderId, event: searchParams.get('event') ?? undefined };
  }
  const id = pathname.slice(INBOUND_PATH.length + 1);
  if (id === '' || id.includes('/')) return { kind: 'unknown' };
  return method === 'GET' ? { kind: 'receipt', id } : { kind: 'refused', allow: 'GET' };
}
