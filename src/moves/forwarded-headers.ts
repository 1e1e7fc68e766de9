import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { FORWARDED_BY } from '../sites/forwarding-decision.js';

/** Headers that concern one connection (RFC 9110, 7.6.1), in addition to those that `Connection` names. */
const HOP_BY_HOP = [
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade'],
];
/** The other cell may trust what this one says about the client, so nothing of it may come from the client. */
const ABOUT_CLIENT = /^(?:x-forwarded-.*|forwarded|x-real-ip|via)$/;

export interface ForwardedClient {
  /** The host that it addressed. */
  readonly host: string;
  readonly address: string | undefined;
  readonly country: { readonly header: string; readonly value: string | undefined } | undefined;
  /** The name of this cell. */
  readonly by: string;
  /** Whether the body is sent along. */
  readonly hasBody: boolean;
}

export function requestHeaders(received: IncomingHttpHeaders, client: ForwardedClient): OutgoingHttpHeaders {
  const { host, address, country, by, hasBody } = client;
  const headers = endToEnd(received);
  for (const name in headers) if (ABOUT_CLIENT.test(name)) delete headers[name];
  // This cell has answered it already.
  delete headers['expect'];
  if (!hasBody) delete headers['content-length'];
  if (country) delete headers[country.header];
  return {
    ...headers,
    host,
    ...(address !== undefined && { 'x-forwarded-for': address }),
    'x-forwarded-proto': 'https',
    ...(country?.value !== undefined && { [country.header]: country.value }),
    [FORWARDED_BY]: by,
  };
}

export function responseHeaders(received: IncomingHttpHeaders): OutgoingHttpHeaders {
  return endToEnd(received);
}

function endToEnd(received: IncomingHttpHeaders): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { ...received };
  const named = (received.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  // Without its length, the end of a body could be taken for the next request.
  for (const name of [...HOP_BY_HOP, ...named]) if (name !== 'content-length') delete headers[name];
  return headers;
}
