import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { type AddressRange, isLoopback, isWithin } from '../kernel/addresses.js';

/** What proxies add of themselves: a request that carries one of these was passed on. */
const PROXY_HEADERS = ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'forwarded', 'via'];

/** Where a request really comes from. What a proxy says about it counts from trusted proxies only. */
export class RequestOrigin {
  constructor(private readonly trustedProxies: readonly AddressRange[]) {}

  /** Over TLS to us, or to a trusted proxy that says so; plain HTTP only where it never leaves the machine. */
  isSecure(request: IncomingMessage): boolean {
    const { socket } = request;
    if ((socket as TLSSocket).encrypted) return true;
    const protocol = this.forwarded(request, 'x-forwarded-proto');
    if (protocol !== undefined) return protocol.toLowerCase() === 'https';
    return isLoopback(socket.remoteAddress) && isLoopback(socket.localAddress);
  }

  /** The host the sender addressed. */
  host(request: IncomingMessage): string | undefined {
    return this.forwarded(request, 'x-forwarded-host') ?? request.headers.host;
  }

  /** The sender's address: the nearest one in the chain that is not a trusted proxy itself, else where it began. */
  address(request: IncomingMessage): string | undefined {
    const remote = request.socket.remoteAddress;
    const chain = request.headers['x-forwarded-for'];
    if (!chain || !isWithin(remote, this.trustedProxies)) return remote;
    const hops = String(chain)
      .split(',')
      .map((hop) => hop.trim());
    return hops.reverse().find((hop) => !isWithin(hop, this.trustedProxies)) ?? hops.at(-1);
  }

  /** Somebody on this machine itself, not a visitor whom a proxy on this machine lets through, declared or not. */
  isLocal(request: IncomingMessage): boolean {
    const { headers, socket } = request;
    const isNamed = Boolean(headers['x-forwarded-for']) && isWithin(socket.remoteAddress, this.trustedProxies);
    // Whom a proxy lets through without a word that we believe about who it is may be anybody.
    const isPassedOn = PROXY_HEADERS.some((name) => headers[name] !== undefined);
    return (isNamed || !isPassedOn) && isLoopback(this.address(request));
  }

  /** A header as a trusted proxy tells it: the last value, which is what that one saw, whatever a sender wrote before it. */
  forwarded(request: IncomingMessage, header: string): string | undefined {
    if (this.trustedProxies.length === 0) return undefined;
    const value = request.headers[header];
    if (value === undefined || !isWithin(request.socket.remoteAddress, this.trustedProxies)) return undefined;
    return String(value).split(',').at(-1)?.trim();
  }
}
