import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { isLoopback, isWithin } from '../kernel/addresses.js';
import type { AddressRange } from '../kernel/settings.js';

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

  /** The sender's address: the nearest one in the chain that is not a trusted proxy itself. */
  address(request: IncomingMessage): string | undefined {
    const remote = request.socket.remoteAddress;
    const chain = request.headers['x-forwarded-for'];
    if (!chain || !isWithin(remote, this.trustedProxies)) return remote;
    const hops = String(chain)
      .split(',')
      .map((hop) => hop.trim());
    return hops.reverse().find((hop) => !isWithin(hop, this.trustedProxies)) ?? remote;
  }

  /** Somebody on this machine itself, not a visitor whom an undeclared proxy on this machine lets through. */
  isLocal(request: IncomingMessage): boolean {
    const passedOn = request.headers['x-forwarded-for'] ?? request.headers['forwarded'] ?? request.headers['via'];
    const trusted = isWithin(request.socket.remoteAddress, this.trustedProxies);
    return (passedOn === undefined || trusted) && isLoopback(this.address(request));
  }

  /** The last value: what the proxy that speaks to us saw, whatever a sender wrote before it. */
  private forwarded(request: IncomingMessage, header: string): string | undefined {
    if (this.trustedProxies.length === 0) return undefined;
    const value = request.headers[header];
    if (value === undefined || !isWithin(request.socket.remoteAddress, this.trustedProxies)) return undefined;
    return String(value).split(',').at(-1)?.trim();
  }
}
