import type { FieldWarning } from '../inbound-field.js';

/** Names that senders use for a field, or for a part of one: what follows is the right name. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  order: 'orderId',
  order_number: 'orderId',
  order_no: 'orderId',
  order_ref: 'orderId',
  transaction_id: 'orderId',
  transaction: 'orderId',
  invoice_id: 'orderId',
  amount: 'value',
  total: 'value',
  total_price: 'value',
  total_value: 'value',
  order_total: 'value',
  order_value: 'value',
  grand_total: 'value',
  price: 'value',
  revenue: 'value',
  conversion_value: 'value',
  currency_code: 'currency',
  event_name: 'event',
  event_type: 'event',
  conversion_name: 'event',
  'e-mail': 'email',
  mail: 'email',
  email_address: 'email',
  customer_email: 'email',
  user_email: 'email',
  em: 'hashed_email',
  email_hash: 'hashed_email',
  email_sha256: 'hashed_email',
  sha256_email: 'hashed_email',
  fname: 'firstName',
  fn: 'firstName',
  given_name: 'firstName',
  lname: 'lastName',
  ln: 'lastName',
  surname: 'lastName',
  family_name: 'lastName',
  phone_number: 'phone',
  telephone: 'phone',
  mobile: 'phone',
  tel: 'phone',
  ph: 'hashed_phone',
  timestamp: 'occurredAt',
  time: 'occurredAt',
  date: 'occurredAt',
  event_time: 'occurredAt',
  created_at: 'occurredAt',
  conversion_time: 'occurredAt',
  products: 'items',
  line_items: 'items',
  contents: 'items',
  user_id: 'externalId',
  customer_id: 'externalId',
  zip: 'postalCode',
  zip_code: 'postalCode',
  postcode: 'postalCode',
  plz: 'postalCode',
  state: 'region',
  province: 'region',
  town: 'city',
  country_code: 'country',
  ip: 'ipAddress',
  client_ip: 'ipAddress',
  client_ip_address: 'ipAddress',
  remote_addr: 'ipAddress',
  ua: 'userAgent',
  client_user_agent: 'userAgent',
  page: 'pageUrl',
  url: 'pageUrl',
  page_location: 'pageUrl',
  event_source_url: 'pageUrl',
  page_referrer: 'referrer',
  referer: 'referrer',
  action_source: 'source',
  click_id: 'clickIds',
  gclid: 'clickIds.gclid',
  gbraid: 'clickIds.gbraid',
  wbraid: 'clickIds.wbraid',
  dclid: 'clickIds.dclid',
  fbclid: 'clickIds.fbclid',
  fbc: 'clickIds.fbc',
  fbp: 'clickIds.fbp',
  ttclid: 'clickIds.ttclid',
  msclkid: 'clickIds.msclkid',
  li_fat_id: 'clickIds.li_fat_id',
  epik: 'clickIds.epik',
  sccid: 'clickIds.ScCid',
  rdt_cid: 'clickIds.rdt_cid',
  twclid: 'clickIds.twclid',
  _ga: 'cookies._ga',
  _fbc: 'cookies._fbc',
  _fbp: 'cookies._fbp',
  _ttp: 'cookies._ttp',
  utm_source: 'utm.source',
  utm_medium: 'utm.medium',
  utm_campaign: 'utm.campaign',
  utm_term: 'utm.term',
  utm_content: 'utm.content',
  utm_id: 'utm.id',
  campaign: 'utm.campaign',
  ad_storage: 'consent.ad_storage',
  ad_user_data: 'consent.ad_user_data',
  ad_personalization: 'consent.ad_personalization',
  analytics_storage: 'consent.analytics_storage',
  custom_data: 'custom',
  properties: 'custom',
  metadata: 'custom',
  tax: 'custom.tax',
  shipping: 'custom.shipping',
  discount: 'custom.discount',
  coupon: 'custom.coupon',
  profit: 'custom.profit',
  brand: 'custom.brand',
};

/** Of all names that are not listed: a sender could invent any number of them, or put personal data into them. */
const OTHER = 'other';
/** Of each name that is neither listed nor shown. */
export const UNNAMED: FieldWarning = {
  kind: 'unknown',
  field: OTHER,
  text: 'an unknown field, whose name is not shown: ignored',
};
/** Fits into a header, and is neither an email address nor a phone number. */
const SHOWN = /^[A-Za-z_][\w .-]{0,39}$/;

/** The names that are not those of fields. Only listed ones are stored and counted by their name. */
export class UnknownFields {
  private readonly known: ReadonlySet<string>;
  /** By what is compared of a name. */
  private readonly listed: ReadonlyMap<string, { readonly field: string; readonly use: string }>;

  /** `names`: those of all fields. */
  constructor(names: readonly string[]) {
    this.known = new Set(names);
    const spelled = names.map((name) => [otherSpelling(name), name] as const);
    this.listed = new Map(
      [...spelled, ...Object.entries(OTHER_NAMES)].map(([field, use]) => [comparable(field), { field, use }]),
    );
  }

  has(name: string): boolean {
    return !this.known.has(name);
  }

  warningOf(name: string): FieldWarning {
    const listed = this.listed.get(comparable(name));
    const shown = SHOWN.test(name) ? name : listed?.field;
    if (shown === undefined) return UNNAMED;
    const text = `${shown} is an unknown field: ignored`;
    return listed
      ? { kind: 'unknown', field: listed.field, text: `${text} (use ${listed.use})` }
      : { kind: 'unknown', field: OTHER, text };
  }

  /** The right name in place of a counted one; undefined if it has none. */
  rightNameOf(field: string): string | undefined {
    return this.listed.get(comparable(field))?.use;
  }
}

/** Senders change case and punctuation. An underscore at the beginning is that of a cookie. */
function comparable(name: string): string {
  return name.toLowerCase().replace(/(?!^_)[^a-z0-9]/g, '');
}

/** The usual misspelling of a field: `order_id`, `hashedEmail`, `Email`. */
function otherSpelling(name: string): string {
  if (name.includes('_')) return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return snake === name ? `${name.charAt(0).toUpperCase()}${name.slice(1)}` : snake;
}
