import type { BatchFormat } from '../../http/batch-body.js';

export const INBOUND_PATH = '/__cc/inbound';
export const BATCH_PATH = `${INBOUND_PATH}/batch`;

export const ALLOWED = { inbound: 'POST, GET', batch: 'POST', receipt: 'GET' } as const;

export type InboundRoute =
  | { readonly kind: 'receive' }
  | { readonly kind: 'batch' }
  | { readonly kind: 'receipt'; readonly id: string }
  | { readonly kind: 'receipt'; readonly orderId: string; readonly event: string | undefined }
  | { readonly kind: 'refused'; readonly allow: string }
  | { readonly kind: 'unknown' };

const RECEIVE: InboundRoute = { kind: 'receive' };

export function routeInbound(method: string | undefined, url: string): InboundRoute {
  if (method === 'POST' && url === INBOUND_PATH) return RECEIVE;
  const { pathname, searchParams } = new URL(url, 'http://host');
  if (pathname === INBOUND_PATH) {
    if (method === 'POST') return RECEIVE;
    const orderId = searchParams.get('orderId');
    // Without `orderId` there is nothing to look up, so only POST is allowed.
    if (method !== 'GET') return { kind: 'refused', allow: ALLOWED.inbound };
    if (orderId === null) return { kind: 'refused', allow: 'POST' };
    return { kind: 'receipt', orderId, event: searchParams.get('event') ?? undefined };
  }
  if (pathname === BATCH_PATH) return method === 'POST' ? { kind: 'batch' } : { kind: 'refused', allow: ALLOWED.batch };
  const id = pathname.slice(INBOUND_PATH.length + 1);
  if (id === '' || id.includes('/')) return { kind: 'unknown' };
  return method === 'GET' ? { kind: 'receipt', id } : { kind: 'refused', allow: ALLOWED.receipt };
}

const JSON_TYPE = 'application/json';
const UTF8_PARAMETER = /^\s*charset\s*=\s*(?:"utf-8"|utf-8)\s*$/i;

/** `application/json`, with or without `charset=utf-8`; other parameters do not change how the bytes are read. */
export function isJsonContentType(header: string | undefined): boolean {
  return header === JSON_TYPE || isUtf8Of(JSON_TYPE, header);
}

/** The format of a batch; undefined if its content type is not accepted. */
export function batchFormatOf(header: string | undefined): BatchFormat | undefined {
  if (isJsonContentType(header)) return 'array';
  return isUtf8Of('application/x-ndjson', header) ? 'lines' : undefined;
}

function isUtf8Of(expected: string, header: string | undefined): boolean {
  if (header === undefined) return false;
  const [type = '', ...parameters] = header.split(';');
  if (type.trim().toLowerCase() !== expected) return false;
  return parameters.every((parameter) => !/^\s*charset\s*=/i.test(parameter) || UTF8_PARAMETER.test(parameter));
}
