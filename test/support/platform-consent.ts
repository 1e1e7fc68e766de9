import { request } from 'undici';
import type { AdminClient, AdminReply, TestAdmin } from './admin.js';
import { cookieOf } from './admin.js';

/** A link on the sandbox's consent page. */
export type ConsentLink =
  | 'Allow'
  | 'Cancel'
  | 'Refuse with an error'
  | 'Allow with a code that has expired'
  | 'Allow, and revoke the access afterwards'
  | 'Allow, and come back with another state';

export interface StartedSignIn {
  readonly id: string;
  readonly url: string;
  /** The path of the sign-in in the API. */
  readonly path: string;
  readonly cookie: string;
}

export async function startSignIn(caller: AdminClient, site: string, connection: string): Promise<StartedSignIn> {
  const path = `/sites/${site}/connections/${connection}/sign-in`;
  const reply = await caller(path, { method: 'POST' });
  if (reply.status !== 201) throw new Error(`${connection}: ${reply.status} ${JSON.stringify(reply.body)}`);
  const { id, url } = reply.body;
  return { id, url, path: `${path}/${id}`, cookie: cookieOf(reply) };
}

/** Opens the consent page, as a browser does, and returns where a link on it leads: the address of the callback. */
export async function followConsent(url: string, link: ConsentLink): Promise<string> {
  const { statusCode, body } = await request(url);
  const html = await body.text();
  if (statusCode !== 200) throw new Error(`The consent page answered ${statusCode}: ${html}`);
  const [, href = ''] = [...html.matchAll(/<a href="([^"]+)">([^<]+)<\/a>/g)].find(([, , text]) => text === link) ?? [];
  return href.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
}

/** The browser comes back from the platform. Without the session's cookie, which is not sent on a redirect of another site. */
export function comeBack(admin: TestAdmin, href: string, cookie: string | undefined): Promise<AdminReply> {
  const prefix = `${admin.url}/api/v1`;
  if (!href.startsWith(`${prefix}/oauth/callback?`)) throw new Error(`The redirect leads elsewhere: ${href}`);
  return admin.anonymous(href.slice(prefix.length), { headers: { cookie } });
}

/** A whole sign-in; returns what the API says about it afterwards. */
export async function signInAt(
  admin: TestAdmin,
  caller: AdminClient,
  site: string,
  connection: string,
  link: ConsentLink = 'Allow',
) {
  const started = await startSignIn(caller, site, connection);
  const reply = await comeBack(admin, await followConsent(started.url, link), started.cookie);
  const { body } = await caller(started.path);
  return { ...started, reply, status: body.status as string, reason: body.reason as string | undefined };
}
