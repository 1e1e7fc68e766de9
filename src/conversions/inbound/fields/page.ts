import { containsEmail } from '../../../kernel/email.js';
import { SENT_CLICK_IDS } from '../../../platforms/click-ids.js';
import type { InboundField, InboundFields } from '../inbound-field.js';
import { addClickIds, readClickId } from './click-ids.js';
import { STORABLE } from './texts.js';
import { readUtm, utmNameOf } from './utm.js';

/** Of the address as sent, which may have parameters that are not stored. */
const SENT_MAX = 8_192;
const PAGE_MAX = 2_048;

/** Sent click ids by the parameter's name in lower case. Those of cookies and forms are no parameters. */
const CLICK_NAMES = new Map(
  SENT_CLICK_IDS.filter((name) => !['fbc', 'fbp', 'lead_id'].includes(name)).map((name) => [name.toLowerCase(), name]),
);

/** The usual form of an address: which others browsers read is not for a schema. */
const ADDRESS =
  '^https?://([A-Za-z0-9]+(-[A-Za-z0-9]+)*[.])*[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*(:([0-9]{1,4}|[1-5][0-9]{4}))?([/?#]|$)';
const addressSchema = { type: 'string', maxLength: SENT_MAX, pattern: ADDRESS, allOf: [{ pattern: STORABLE }] };

export const pageFields: readonly InboundField[] = [
  {
    name: 'pageUrl',
    schema: {
      ...addressSchema,
      description:
        'Address of the page on which it happened. Stored without query and fragment, except click ids and UTM parameters, which count as if they were sent in clickIds and utm.',
      example: 'https://shop.example/checkout/thanks?utm_source=newsletter',
    },
    read: (sent, fields) => {
      const page = readAddress(sent);
      if (!page) return `pageUrl must be an address with http or https of at most ${SENT_MAX} characters`;
      fields.pageUrl = page.text;
      addClickIds(fields, page.clickIds);
      if (Object.keys(page.utm).length > 0) fields.utm = { ...page.utm, ...fields.utm };
    },
  },
  {
    name: 'referrer',
    schema: {
      ...addressSchema,
      description: 'Address of the page before, as the browser states it. Stored as pageUrl is.',
      example: 'https://www.google.com/',
    },
    read: (sent, fields) => {
      const page = readAddress(sent);
      if (!page) return `referrer must be an address with http or https of at most ${SENT_MAX} characters`;
      fields.referrer = page.text;
    },
  },
];

interface Address {
  readonly text: string;
  readonly clickIds: Record<string, string>;
  readonly utm: NonNullable<InboundFields['utm']>;
}

function parsed(address: string): URL | undefined {
  try {
    return new URL(address);
  } catch {
    return undefined;
  }
}

/** The address without what may be personal: query and fragment, except known parameters, and a path with an email address. */
function readAddress(sent: unknown): Address | undefined {
  if (typeof sent !== 'string' || sent.length > SENT_MAX) return undefined;
  const url = parsed(sent);
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return undefined;
  const clickIds: Record<string, string> = {};
  const utm: Record<string, string> = {};
  const kept = new URLSearchParams();
  for (const [parameter, value] of url.searchParams) {
    const name = parameter.toLowerCase();
    const click = CLICK_NAMES.get(name);
    const field = utmNameOf(name);
    const text = click ? readClickId(value) : field && readUtm(value);
    if (!text) continue;
    if (click) clickIds[click] ??= text;
    else if (field) utm[field] ??= text;
    kept.append(parameter, text);
  }
  const page = url.origin + url.pathname;
  const plain = page.length > PAGE_MAX || containsEmail(page) ? `${url.origin}/` : page;
  return { text: kept.size > 0 ? `${plain}?${kept}` : plain, clickIds, utm };
}
