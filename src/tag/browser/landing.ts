import { attempt } from './page.js';

/** What a page's address says about how the visitor came. Pure: addresses in, values out. */
export interface Landing {
  /** By kind: the parameter's name in lower case. */
  readonly ids: Record<string, string>;
  /** By the parameter's name without `utm_`. */
  readonly utm: Record<string, string>;
}

// The first line is what platforms are sent; the second is kept for whoever comes next: the service decides what it uses.
const CLICK =
  /^(gclid|[gw]braid|dclid|fbclid|ttclid|msclkid|twclid|li_fat_id|sccid|rdt_cid|epik|gclsrc|gad_source|gad_campaignid|srsltid|igshid|igsh|qclid|irclickid|irclid|tblci|ob_click_id|obclid|dicbo|yclid|awc|oppref|ctwa_clid)$/;
const UTM = /^utm_(source|medium|campaign|term|content|id|source_platform|creative_format|marketing_tactic)$/;
/** A template that the ad platform did not fill in: {campaignid}, {{campaign.id}}, __CLICKID__. */
const MACRO = /[{}]|^__.*__$|^\(not set\)$/i;
/** Spelled out, because browsers take long to make ready what a property of Unicode stands for. */
export const CONTROL = /[^ -~\xa0-\uffff]/g;
const ID_LENGTH = 500;
const TEXT_LENGTH = 500;
const ADDRESS_LENGTH = 1000;

export function landingOf(href: string): Landing {
  const landing: Landing = { ids: {}, utm: {} };
  for (const parameter of queryOf(href)) {
    const at = `${parameter}=`.indexOf('=');
    const name = decode(parameter.slice(0, at)).toLowerCase();
    const value = parameter.slice(at + 1);
    const field = (UTM.exec(name) || [])[1];
    if (field) {
      const text = cut(decode(value.replace(/\+/g, ' ')).replace(CONTROL, '').trim(), TEXT_LENGTH);
      if (text && !landing.utm[field] && !MACRO.test(text) && !tellsEmail(text)) landing.utm[field] = text;
    } else if (CLICK.test(name) && !landing.ids[name]) {
      const id = decode(value);
      if (isClickId(id)) landing.ids[name] = id;
    }
  }
  return landing;
}

/** Printable ASCII but the @. Nothing is cut off: half of one is worth nothing, and a case changed is another id. */
export function isClickId(id: string): boolean {
  return id.length <= ID_LENGTH && /^[!-?A-~]+$/.test(id) && !MACRO.test(id);
}

/** The address without its fragment, and without every part of it that tells an email address. */
export function addressOf(href: string): string {
  const path = (href.split(/[?#]/)[0] as string).split('/').map((part) => (tellsEmail(part) ? '' : part));
  const query = queryOf(href).filter((parameter) => !tellsEmail(parameter) && !/^[^=]*e-?mail[^=]*=/i.test(parameter));
  return cut(path.join('/') + (query.length ? `?${query.join('&')}` : ''), ADDRESS_LENGTH);
}

/** Whole characters: half of a surrogate pair is no text. */
export function cut(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}

/** What is not well encoded is taken as it stands. */
export function decode(text: string): string {
  return attempt(() => decodeURIComponent(text)) || text;
}

function queryOf(href: string): string[] {
  const [query] = href.split('?').slice(1).join('?').split('#') as [string];
  return query.split('&').filter(Boolean);
}

/** Looked at behind two layers of encoding: shops put addresses into addresses. */
function tellsEmail(text: string): boolean {
  return /[^\s@]@[^\s@]/.test(decode(decode(text)));
}
