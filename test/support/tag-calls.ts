import { randomUUID } from 'node:crypto';
import { type Reply, type RequestOptions, send, type TestService } from './service.js';

/** A browser that a person uses, and the signals of one. */
export const BROWSER = 'Mozilla/5.0 (Windows NT 10.0; rv:115.0) Gecko/20100101 Firefox/115.0';
export const SIGNALS = {
  ...{ webdriver: false, languages: 2, screen: [1920, 1080], viewport: [1200, 800] },
  ...{ touch: 0, plugins: 5, loadedMs: 900 },
};

/** A request of the tag as a browser sends it from a page of the site, through a proxy that the service has to trust. */
export function callTag(
  service: TestService,
  { host }: { readonly host: string },
  call: string,
  message: object = {},
  options: RequestOptions = {},
): Promise<Reply> {
  const headers = {
    ...{ Host: host, Origin: `https://www.${host}`, 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '203.0.113.77' },
    ...{ 'Content-Type': 'text/plain;charset=UTF-8', 'User-Agent': BROWSER },
    ...{ 'Accept-Language': 'de', 'Sec-Fetch-Mode': 'no-cors' },
    ...options.headers,
  };
  const body = JSON.stringify({ v: 1, visitor: randomUUID(), visit: randomUUID(), signals: SIGNALS, ...message });
  return send(service, { method: 'POST', path: `/__cc/${call}`, body, ...options, headers });
}

/** The cookie with which the same browser sends its next request. */
export function visitorCookie(reply: Reply): string {
  return String(reply.headers['set-cookie']).split(';')[0] as string;
}
