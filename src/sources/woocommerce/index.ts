import { headerOf, hmac, isEqual } from '../signatures.js';
import type { Source } from '../source.js';

/** What WooCommerce posts, unsigned, when a webhook is saved. Without a 200 it does not activate the webhook. */
const PROBE = /^webhook_id=\d{1,20}$/;

const order = {
  // Payment was received. An order without payment is updated later.
  when: '/status = processing, completed',
  event: "'purchase'",
  email: '/billing/email',
  phone: '/billing/phone',
  firstName: '/billing/first_name',
  lastName: '/billing/last_name',
  city: '/billing/city',
  region: '/billing/state',
  postalCode: '/billing/postcode',
  country: '/billing/country',
  value: '/total | number',
  currency: '/currency',
  orderId: '/id',
  occurredAt: '/date_paid_gmt ?? /date_created_gmt | utc',
  source: "'website'",
  'items[]': '/line_items',
  'items[].id': '/product_id',
  'items[].name': '/name',
  'items[].quantity': '/quantity',
  'items[].price': '/price | number',
  ipAddress: '/customer_ip_address',
  userAgent: '/customer_user_agent',
};

export const woocommerce: Source = {
  name: 'woocommerce',
  label: 'WooCommerce',
  refusalStatus: 401,
  secret: 'generated',
  verify({ headers, body }, secret) {
    const sent = headerOf(headers, 'x-wc-webhook-signature');
    if (sent === undefined) return 'signature_missing';
    return isEqual(sent, hmac('sha256', secret, 'base64', body)) ? undefined : 'signature';
  },
  head({ headers }) {
    const topic = headerOf(headers, 'x-wc-webhook-topic');
    return topic === undefined
      ? undefined
      : { topic, id: headerOf(headers, 'x-wc-webhook-delivery-id'), signedId: undefined };
  },
  sign(topic, body, secret, _, id) {
    return {
      'X-WC-Webhook-Topic': topic,
      'X-WC-Webhook-Signature': hmac('sha256', secret, 'base64', body),
      'X-WC-Webhook-Delivery-ID': id,
    };
  },
  isProbe: ({ body }) => body.length <= 40 && PROBE.test(body.toString('latin1')),
  mapping: { 'order.created': order, 'order.updated': order },
};
