import { decode, isClickId, truncate } from './landing.js';

/** Values of the cookies that the platforms' own scripts set on the page. */
export interface PlatformCookies {
  /** In the format of the platform's API. */
  readonly cookies: Record<string, string>;
  /** Click ids, with the click time `t` where the cookie contains it. */
  readonly clicks: Record<string, { id: string; t?: number }>;
}

const VALUE_LENGTH = 300;

/**
 * `unchanged`: the cookies that are sent as they are. `clickIds`: those that hold only a click id, and are named after it, some
 * with a leading underscore. Both are alternatives of a regular expression.
 */
export function parsePlatformCookies(text: string, unchanged: string, clickIds: string): PlatformCookies {
  const isUnchanged = new RegExp(`^(${unchanged})$`);
  const clickCookie = new RegExp(`^_?(${clickIds})$`);
  const found: PlatformCookies = { cookies: {}, clicks: {} };
  const { cookies } = found;
  const click = (kind: string, id: string | undefined, t?: number) => {
    if (id && isClickId(id)) found.clicks[kind] = t ? { id, t } : { id };
  };
  for (const pair of text.split('; ')) {
    const at = pair.indexOf('=');
    const name = pair.slice(0, at);
    const value = decode(pair.slice(at + 1));
    const dotted = value.split('.');
    if (value && isUnchanged.test(name)) cookies[name] = truncate(value, VALUE_LENGTH);
    const plain = clickCookie.exec(name.replace('scclid', 'sccid'));
    if (plain) click(plain[1] as string, value);
    // fb.1.<ms>.<fbclid>
    if (name === '_fbc') click('fbclid', dotted[3], Number(dotted[2]));
    // GCL.<s>.<gclid>
    if (name === '_gcl_aw') click('gclid', dotted.slice(2).join('.'), Number(dotted[1]) * 1000);
    if (name === '_uetmsclkid') click('msclkid', value.replace(/^_uet/, ''));
    // GA1.<n>.<client id>, where the client id has two parts
    const client = /^GA.*\.(\d+\.\d+)$/.exec(value);
    if (name === '_ga' && client) cookies._ga = client[1] as string;
    // GS1.1.<session>.… or GS2.1.s<session>$…; with several streams, the latest session.
    const session = /^GS\d\.\d\.s?(\d+)/.exec(value);
    if (/^_ga_/.test(name) && session && !(Number(cookies._ga_session) > Number(session[1]))) {
      cookies._ga_session = session[1] as string;
    }
  }
  return found;
}
