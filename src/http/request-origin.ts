import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { type AddressRange, isLoopback, isWithin } from '../kernel/addresses.js';

/** Headers that proxies add: a request with one of them was forwarded. */
const PROXY_HEADERS = ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'forwarded', 'via'];

/** The real origin of a request. Forwarding headers count only if a trusted proxy sent them. */
export class RequestOrigin {
  constructor(private readonly trustedProxies: readonly AddressRange[]) {}

  /**
   * Over TLS to the service, or to a trusted proxy that reports it; plain HTTP only over loopback. A request that was
   * forwarded over loopback comes from an unknown client: unless a trusted proxy reports https, it counts as plain HTTP.
   */
  isSecure(request: IncomingMessage): boolean {
    const { socket } = request;
    const isTls = Boolean((socket as TLSSocket).encrypted);
    if (isForwarded(request) && (!isTls || isWithin(socket.remoteAddress, this.trustedProxies))) {
      return this.forwarded(request, 'x-forwarded-proto')?.toLowerCase() === 'https';
    }
    return isTls || (isLoopback(socket.remoteAddress) && isLoopback(socket.localAddress));
  }

  /** The host that the client addressed. */
  host(request: IncomingMessage): string | undefined {
    return this.forwarded(request, 'x-forwarded-host') ?? request.headers.host;
  }

  /** The client's address: the nearest one in the chain that is not a trusted proxy, otherwise the first one. */
  address(request: IncomingMessage): string | undefined {
    const remote = request.socket.remoteAddress;
    const chain = request.headers['x-forwarded-for'];
    if (!chain || !isWithin(remote, this.trustedProxies)) return remote;
    const hops = String(chain)
      .split(',')
      .map((hop) => withoutPort(hop.trim()));
    return hops.reverse().find((hop) => !isWithin(hop, this.trustedProxies)) ?? hops.at(-1);
  }

  /** Whether the client runs on this machine, and is not a remote one behind a local proxy, declared or not. */
  isLocal(request: IncomingMessage): boolean {
    const { headers, socket } = request;
    const isDeclared = Boolean(headers['x-forwarded-for']) && isWithin(socket.remoteAddress, this.trustedProxies);
    // A request from a proxy that is not trusted may come from any client.
    return (isDeclared || !isForwarded(request)) && isLoopback(this.address(request));
  }

  /** A header set by a trusted proxy: the last value, because earlier ones may come from the client. */
  forwarded(request: IncomingMessage, header: string): string | undefined {
    if (this.trustedProxies.length === 0) return undefined;
    const value = request.headers[header];
    if (value === undefined || !isWithin(request.socket.remoteAddress, this.trustedProxies)) return undefined;
    return String(value).split(',').at(-1)?.trim();
  }
}

/** Some proxies add the port: `203.0.113.7:49152`, `[2001:db8::7]:49152`. Each connection would count as another client. */
function withoutPort(hop: string): string {
  return /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(hop)?.slice(1).find(Boolean) ?? hop;
}

function isForwarded({ headers }: IncomingMessage): boolean {
  for (const name of PROXY_HEADERS) if (headers[name] !== undefined) return true;
  return false;
}
