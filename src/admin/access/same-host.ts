import type { IncomingMessage } from 'node:http';
import { RequestOrigin } from '../../http/request-origin.js';
import { isLoopbackHost } from '../../kernel/addresses.js';
import type { Settings } from '../../kernel/settings/settings.js';

type CookieName = 'cc_session' | 'cc_browser' | 'cc_sign_in' | 'cc_platform' | 'cc_provider';

/** Answers requests only under the names that an operator chose, so that a page of another name cannot reach them by DNS. */
export class SameHost {
  private readonly origin: RequestOrigin;

  constructor(private readonly settings: Pick<Settings, 'adminUrl' | 'trustedProxies'>) {
    this.origin = new RequestOrigin(settings.trustedProxies);
  }

  /** Why the request is refused; undefined if it is not. */
  refusal(request: IncomingMessage): string | undefined {
    const host = this.origin.host(request);
    const origin = request.headers.origin;
    const { adminUrl } = this.settings;
    if (adminUrl === undefined) {
      // Listens on loopback only.
      const name = host?.replace(/:\d+$/, '');
      if (name === undefined || !isLoopbackHost(name)) return `The name ${host} is not accepted. Use localhost.`;
      if (origin !== undefined && origin !== `http://${host}`) return `The origin ${origin} is not accepted.`;
      return undefined;
    }
    if (host === undefined || host.toLowerCase() !== new URL(adminUrl).host)
      return `The name ${host} is not accepted. Use ${adminUrl}.`;
    if (origin !== undefined && origin !== adminUrl) return `The origin ${origin} is not accepted.`;
    if (adminUrl.startsWith('https:') && !this.origin.isSecure(request)) return `Use ${adminUrl}.`;
    return undefined;
  }

  /** The address that the browser uses. Without `ADMIN_URL` it is the request's own name, which was accepted: loopback. */
  publicUrl({ headers }: IncomingMessage): string {
    return this.settings.adminUrl ?? `http://${headers.host}`;
  }

  /**
   * `__Host-`: only this host can set it, and only over a secure connection or loopback. Browsers do not keep cookies of ports apart,
   * and on loopback each port may be another product.
   */
  cookieName(name: CookieName, { socket }: IncomingMessage): string {
    return this.settings.adminUrl === undefined ? `__Host-${name}_${socket.localPort}` : `__Host-${name}`;
  }

  address(request: IncomingMessage): string | undefined {
    return this.origin.address(request);
  }
}
