import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { TlsOptions } from 'node:tls';
import { type Answer, sendAnswer } from './answer.js';
import { clientErrorAnswerer, MAX_HEADER_BYTES } from './client-error.js';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const HEADERS_TIMEOUT_MS = 5_000;
export const REQUEST_TIMEOUT_MS = 10_000;
/** Longer than the 60 s of common load balancers, so that they close an idle connection and not the service. */
export const KEEP_ALIVE_MS = 65_000;
const MAX_HEADERS = 100;

/** Limits of every connection. */
const LIMITS: ServerOptions = {
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: KEEP_ALIVE_MS,
  maxHeaderSize: MAX_HEADER_BYTES,
  noDelay: true,
};

/** A server that refuses requests which another program may read differently. The refusals are answered in the format of the listener. */
export function createListener(
  handle: Handler,
  answerFor: (status: number, text: string) => Answer,
  tls?: TlsOptions,
): Server {
  const tooMany = answerFor(431, `The request has more than ${MAX_HEADERS} headers. Send fewer.`);
  const twoHosts = answerFor(400, 'The request has more than one Host header.');
  const listener: Handler = (request, response) => {
    const refusal = request.rawHeaders.length > 2 * MAX_HEADERS ? tooMany : hasTwoHosts(request) ? twoHosts : undefined;
    if (refusal === undefined) return handle(request, response);
    response.shouldKeepAlive = false;
    sendAnswer(response, refusal, randomUUID());
  };
  // Both kinds of server have the methods that Fastify uses; only their types differ.
  const server = tls
    ? (createTlsServer({ ...LIMITS, ...tls, handshakeTimeout: HEADERS_TIMEOUT_MS }, listener) as unknown as Server)
    : createServer(LIMITS, listener);
  // Unless it is 0, Node drops headers beyond a limit: a client could remove those that a proxy adds after its own.
  server.maxHeadersCount = 0;
  server.on('clientError', clientErrorAnswerer(answerFor));
  return server;
}

/** A proxy may select the site by one of them and this service by the other (RFC 9112, 3.2: answer with 400). */
function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}
