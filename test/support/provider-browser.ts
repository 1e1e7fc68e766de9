import { request } from 'undici';

/** A browser as far as these pages need one: it keeps cookies by origin, follows redirects, and fills in the provider's forms. */
export class ProviderBrowser {
  private readonly jars = new Map<string, Map<string, string>>();

  constructor(private readonly adminUrl: string) {}

  /** Those of the application. */
  cookies(): string {
    return [...this.jar(this.adminUrl)].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  async get(url: string): Promise<{ url: string; status: number; body: string; location: string | undefined }> {
    return this.call('GET', url);
  }

  async call(method: 'GET' | 'POST', url: string, form?: Record<string, string>) {
    const { origin } = new URL(url);
    const jar = this.jar(origin);
    const reply = await request(url, {
      method,
      headers: {
        cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form && { body: new URLSearchParams(form).toString() }),
    });
    for (const line of [reply.headers['set-cookie'] ?? []].flat()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) as unknown as [string, string, string];
      if (/Max-Age=0|expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    const location = reply.headers['location'];
    const body = await reply.body.text();
    const target = location === undefined ? undefined : new URL(String(location), url).href;
    return { url, status: reply.statusCode, body, location: target };
  }

  jar(origin: string): Map<string, string> {
    const jar = this.jars.get(origin) ?? new Map<string, string>();
    this.jars.set(origin, jar);
    return jar;
  }

  /** Goes to the provider, signs in and agrees, until the browser is sent back. Returns the address of the callback. */
  async signInAtProvider(login: string): Promise<string> {
    let page = await this.get(`${this.adminUrl}/api/v1/session/provider`);
    for (let steps = 0; steps < 15; steps += 1) {
      const { location } = page;
      if (location?.includes('/session/provider/callback')) return location;
      if (location !== undefined) page = await this.get(location);
      else {
        const [, action] = /<form[^>]*action="([^"]+)"/.exec(page.body) as unknown as [string, string];
        const [, prompt] = /name="prompt" value="([^"]+)"/.exec(page.body) as unknown as [string, string];
        page = await this.call('POST', new URL(action, page.url).href, { prompt, login, password: 'any' });
      }
    }
    throw new Error(`Did not come back from the provider: ${page.status} ${page.body}`);
  }
}
