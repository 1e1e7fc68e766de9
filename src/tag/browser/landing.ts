import { attempt } from './page.js';

/** The click ids and UTM fields in a page's address. */
export interface Landing {
  /** By parameter name in lower case. */
  readonly ids: Record<string, string>;
  /** By parameter name without `utm_`. */
  readonly utm: Record<string, string>;
}

const UTM = /^utm_(source|medium|campaign|term|content|id|source_platform|creative_format|marketing_tactic)$/;
/** Template parameters that the ad platform did not replace: {campaignid}, {{campaign.id}}, __CLICKID__. */
const MACRO = /[{}]|^__.*__$|^\(not set\)$/i;
/** A plain range: compiling a Unicode property escape takes browsers too long. */
export const CONTROL = /[^ -~\xa0-\uffff]/g;
const ID_LENGTH = 500;
const TEXT_LENGTH = 500;
const ADDRESS_LENGTH = 1000;

/** `clicks`: the parameters with a click id, as alternatives of a regular expression. */
export function parseLanding(href: string, clicks: string): Landing {
  const isClick = new RegExp(`^(${clicks})$`);
  const landing: Landing = { ids: {}, utm: {} };
  for (const parameter of parametersOf(href)) {
    const at = `${parameter}=`.indexOf('=');
    const name = decode(parameter.slice(0, at)).toLowerCase();
    const value = parameter.slice(at + 1);
    const field = (UTM.exec(name) || [])[1];
    if (field) {
      const text = truncate(decode(value.replace(/\+/g, ' ')).replace(CONTROL, '').trim(), TEXT_LENGTH);
      if (text && !landing.utm[field] && !MACRO.test(text) && !containsEmail(text)) landing.utm[field] = text;
    } else if (isClick.test(name) && !landing.ids[name]) {
      const id = decode(value);
      if (isClickId(id)) landing.ids[name] = id;
    }
  }
  return landing;
}

/** Printable ASCII except `@`. Ids are never truncated or lower-cased: a changed id matches no click. */
export function isClickId(id: string): boolean {
  return id.length <= ID_LENGTH && /^[!-?A-~]+$/.test(id) && !MACRO.test(id);
}

/** The URL without its fragment and without any path segment or parameter that contains an email address. */
export function sanitiseUrl(href: string): string {
  const path = (href.split(/[?#]/)[0] as string).split('/').map((part) => (containsEmail(part) ? '' : part));
  const query = parametersOf(href).filter(
    (parameter) => !containsEmail(parameter) && !/^[^=]*e-?mail[^=]*=/i.test(parameter),
  );
  return truncate(path.join('/') + (query.length ? `?${query.join('&')}` : ''), ADDRESS_LENGTH);
}

/** Does not split a surrogate pair: the result must be well-formed text. */
export function truncate(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}

/** Returns malformed percent-encoding unchanged. */
export function decode(text: string): string {
  return attempt(() => decodeURIComponent(text)) || text;
}

function parametersOf(href: string): string[] {
  const [query] = href.split('?').slice(1).join('?').split('#') as [string];
  return query.split('&').filter(Boolean);
}

/** Decodes twice, because shops pass URLs as parameters of URLs. */
function containsEmail(text: string): boolean {
  return /[^\s@]@[^\s@]/.test(decode(decode(text)));
}
