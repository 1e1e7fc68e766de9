import { headerOf, hmac, isEqual } from '../signatures.js';
import type { Source } from '../source.js';

const landing = (name: string) => `/landing_site | parameter ${name}`;

const order = {
  event: "'purchase'",
  email: '/email ?? /contact_email ?? /customer/email',
  phone: '/phone ?? /billing_address/phone ?? /customer/phone',
  firstName: '/customer/first_name ?? /billing_address/first_name',
  lastName: '/customer/last_name ?? /billing_address/last_name',
  city: '/billing_address/city',
  region: '/billing_address/province_code ?? /billing_address/province',
  postalCode: '/billing_address/zip',
  country: '/billing_address/country_code',
  externalId: '/customer/id',
  value: '/total_price | number',
  currency: '/currency',
  orderId: '/id',
  occurredAt: '/processed_at ?? /created_at',
  source: "'website'",
  'items[]': '/line_items',
  'items[].id': '/variant_id ?? /product_id ?? /id',
  'items[].name': '/title',
  'items[].quantity': '/quantity',
  'items[].price': '/price | number',
  ipAddress: '/client_details/browser_ip ?? /browser_ip',
  userAgent: '/client_details/user_agent',
  'clickIds.gclid': landing('gclid'),
  'clickIds.gbraid': landing('gbraid'),
  'clickIds.wbraid': landing('wbraid'),
  'clickIds.fbclid': landing('fbclid'),
  'clickIds.ttclid': landing('ttclid'),
  'clickIds.msclkid': landing('msclkid'),
  'utm.source': landing('utm_source'),
  'utm.medium': landing('utm_medium'),
  'utm.campaign': landing('utm_campaign'),
  'utm.term': landing('utm_term'),
  'utm.content': landing('utm_content'),
};

export const shopify: Source = {
  name: 'shopify',
  label: 'Shopify',
  refusalStatus: 401,
  secret: 'given',
  verify({ headers, body }, secret) {
    const sent = headerOf(headers, 'x-shopify-hmac-sha256');
    if (sent === undefined) return 'signature_missing';
    return isEqual(sent, hmac('sha256', secret, 'base64', body)) ? undefined : 'signature';
  },
  head({ headers }) {
    const topic = headerOf(headers, 'x-shopify-topic');
    return topic === undefined
      ? undefined
      : { topic, id: headerOf(headers, 'x-shopify-webhook-id'), signedId: undefined };
  },
  sign(topic, body, secret, _, id) {
    return {
      'X-Shopify-Topic': topic,
      'X-Shopify-Hmac-Sha256': hmac('sha256', secret, 'base64', body),
      'X-Shopify-Webhook-Id': id,
    };
  },
  mapping: {
    'orders/paid': order,
    // The same order arrives as orders/paid once it is paid, and counts once.
    'orders/create': { when: '/financial_status = paid', ...order },
    'refunds/create': {
      correction: "'true'",
      event: "'refund'",
      value: '/transactions | sum /amount',
      currency: '/transactions/0/currency',
      orderId: '/order_id',
      occurredAt: '/processed_at ?? /created_at',
    },
  },
};
