import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { buildConnector } from 'undici';
import { isGlobalUnicast } from './global-unicast.js';
import { AddressRefused, guardedLookup } from './guarded-lookup.js';

const PROBE_AFTER_MS = 60_000;
/**
 * How long to wait for one of several addresses before connecting to the next. Node's default of 250 ms is shorter than an
 * intercontinental round trip: every address but the last would be abandoned too early.
 */
const NEXT_ADDRESS_AFTER_MS = 1_000;

const lookupGlobal = guardedLookup();

/** Opens sockets to one origin. If guarded, it refuses addresses that are not global unicast. */
export class Dialer {
  private readonly secure: boolean;
  private readonly host: string;
  private readonly port: number;
  /** Session of the newest TLS connection; it shortens the next handshake. */
  private session: Buffer | undefined;

  constructor(
    origin: URL,
    private readonly guarded: boolean,
  ) {
    this.secure = origin.protocol === 'https:';
    this.host = origin.hostname.startsWith('[') ? origin.hostname.slice(1, -1) : origin.hostname;
    this.port = Number(origin.port) || (this.secure ? 443 : 80);
  }

  /** Returns the socket immediately, so that connecting can be aborted; calls back when it is connected. */
  dial(callback: buildConnector.Callback): Socket | undefined {
    // A socket does not call `lookup` for an IP address.
    if (this.guarded && isIP(this.host) && !isGlobalUnicast(this.host)) {
      process.nextTick(callback, new AddressRefused(), null);
      return undefined;
    }
    const socket = this.connect();
    socket.setNoDelay(true).setKeepAlive(true, PROBE_AFTER_MS);
    socket.once(this.secure ? 'secureConnect' : 'connect', () => {
      socket.off('error', fail);
      callback(null, socket);
    });
    const fail = (error: Error) => callback(error, null);
    socket.once('error', fail);
    return socket;
  }

  private connect(): Socket {
    const options = {
      host: this.host,
      port: this.port,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
      ...(this.guarded && { lookup: lookupGlobal }),
    };
    if (!this.secure) return connectTcp(options);
    const socket = connectTls({
      ...options,
      // An IP address is not a valid server name; the certificate is checked against the address.
      ...(!isIP(this.host) && { servername: this.host }),
      ...(this.session && { session: this.session }),
      ALPNProtocols: ['http/1.1'],
      // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable it.
      rejectUnauthorized: true,
    });
    return socket.on('session', (session) => {
      this.session = session;
    });
  }
}
