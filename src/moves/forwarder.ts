import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as requestHttp,
} from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { isIP } from 'node:net';

/** Requests under way to one address. A cell that does not answer then costs a bounded number of sockets here. */
const REQUESTS_MAX = 128;
const CONNECT_WITHIN_MS = 3_000;

export interface ForwardedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  /** Undefined if none is sent. */
  readonly body: IncomingMessage | undefined;
  /** Aborts it when the client has disconnected. */
  readonly signal: AbortSignal;
}

export type NotForwarded = 'busy' | 'unreachable' | 'timeout';

/** The request has no response. The message names the cause, and no part of the request. */
export class ForwardingFailure extends Error {
  override readonly name = 'ForwardingFailure';

  constructor(
    readonly outcome: NotForwarded,
    message: string,
  ) {
    super(message);
  }
}

export interface ForwarderOptions {
  /** For a whole exchange, until the end of the response. */
  readonly timeoutMs: number;
  readonly requestsMax?: number;
}

/** Sends requests to other cells as they are, and streams bodies in both directions. TLS is verified, redirects are passed on. */
export class Forwarder {
  private readonly underWay = new Map<string, number>();
  private readonly agents = {
    'http:': new HttpAgent({ keepAlive: true }),
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable it.
    'https:': new HttpsAgent({ keepAlive: true, rejectUnauthorized: true }),
  };

  constructor(private readonly options: ForwarderOptions) {}

  /** Resolves when the response begins. A response that is cut off later ends with an error. */
  async send(address: URL, request: ForwardedRequest): Promise<IncomingMessage> {
    const { origin } = address;
    const underWay = this.underWay.get(origin) ?? 0;
    if (underWay >= (this.options.requestsMax ?? REQUESTS_MAX))
      throw new ForwardingFailure('busy', `${underWay} requests wait for ${address.host}`);
    const sent = this.open(address, request);
    this.underWay.set(origin, underWay + 1);
    // After the response, or the failure.
    sent.once('close', () => this.leave(origin));
    return this.response(sent, address, request);
  }

  close(): void {
    for (const agent of Object.values(this.agents)) agent.destroy();
  }

  private open(address: URL, { method, path, headers, signal }: ForwardedRequest): ClientRequest {
    const host = address.hostname.replace(/^\[|\]$/g, '');
    const options = { host, port: address.port, method, path, headers, signal };
    if (address.protocol === 'http:') return requestHttp({ ...options, agent: this.agents['http:'] });
    // Otherwise Node takes the name from the Host header, and checks the certificate against it.
    return requestHttps({ ...options, agent: this.agents['https:'], servername: isIP(host) ? '' : host });
  }

  private response(sent: ClientRequest, { host, protocol }: URL, { body }: ForwardedRequest): Promise<IncomingMessage> {
    const { timeoutMs } = this.options;
    return new Promise((resolve, reject) => {
      const expire = (why: string) => sent.destroy(new ForwardingFailure('timeout', why));
      const connecting = setTimeout(expire, CONNECT_WITHIN_MS, `${host} did not accept a connection`);
      const answering = setTimeout(expire, timeoutMs, `${host} did not answer in full within ${timeoutMs} ms`);
      sent.once('socket', (socket) => {
        const connected = () => clearTimeout(connecting);
        if (sent.reusedSocket) connected();
        else socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', connected);
      });
      sent.once('close', () => {
        clearTimeout(connecting);
        clearTimeout(answering);
      });
      sent.once('response', (response) => {
        // It has refused the request without reading the rest of its body.
        response.once('end', () => {
          if (!sent.writableFinished) sent.destroy();
        });
        resolve(response);
      });
      sent.on('error', (error: NodeJS.ErrnoException) => {
        const why = `${host} could not be reached (${error.code ?? error.name})`;
        reject(error instanceof ForwardingFailure ? error : new ForwardingFailure('unreachable', why));
      });
      if (body) body.pipe(sent);
      else sent.end();
    });
  }

  private leave(origin: string): void {
    const left = (this.underWay.get(origin) as number) - 1;
    if (left > 0) this.underWay.set(origin, left);
    else this.underWay.delete(origin);
  }
}
