import type { IncomingMessage } from 'node:http';
import { RequestOrigin } from '../http/request-origin.js';
import { isLoopbackHost } from '../kernel/addresses.js';
import type { Settings } from '../kernel/settings.js';

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

  address(request: IncomingMessage): string | undefined {
    return this.origin.address(request);
  }
}
