import { connect as connectPlainly, isIP, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import type { buildConnector } from 'undici';
import { isGlobalUnicast } from './global-unicast.js';
import { AddressRefused, guardedLookup } from './guarded-lookup.js';

const PROBE_AFTER_MS = 60_000;
/**
 * How long one address of several may take before the next is tried. Node's own 250 ms is less than a round trip to the
 * other side of the world, and would leave every address but the last one untried.
 */
const NEXT_ADDRESS_AFTER_MS = 1_000;

const lookupGlobal = guardedLookup();

/** Opens sockets to one origin. A guarded one opens none to an address that is not global unicast. */
export class Dialer {
  private readonly secure: boolean;
  private readonly host: string;
  private readonly port: number;
  /** Of the newest TLS connection: the next handshake is shorter with it. */
  private session: Buffer | undefined;

  constructor(
    origin: URL,
    private readonly guarded: boolean,
  ) {
    this.secure = origin.protocol === 'https:';
    this.host = origin.hostname.startsWith('[') ? origin.hostname.slice(1, -1) : origin.hostname;
    this.port = Number(origin.port) || (this.secure ? 443 : 80);
  }

  /** Returns the socket at once, so that the wait for it can be given up; the callback has it when it is ready. */
  dial(callback: buildConnector.Callback): Socket | undefined {
    // A socket looks names up, but not addresses.
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
    if (!this.secure) return connectPlainly(options);
    const socket = connectSecurely({
      ...options,
      // An address is no server name; its certificate is checked against the address itself.
      ...(!isIP(this.host) && { servername: this.host }),
      ...(this.session && { session: this.session }),
      ALPNProtocols: ['http/1.1'],
      // Said aloud, so that no environment variable can switch it off.
      rejectUnauthorized: true,
    });
    return socket.on('session', (session) => {
      this.session = session;
    });
  }
}
