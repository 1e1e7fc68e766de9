import { headerOf, hmac, isEqual, textOf } from '../signatures.js';
import type { Source } from '../source.js';

const page = (name: string) => `/context/page/url | parameter ${name}`;

const common = {
  email: '/properties/email ?? /context/traits/email ?? /traits/email',
  phone: '/properties/phone ?? /context/traits/phone ?? /traits/phone',
  firstName: '/context/traits/firstName ?? /traits/firstName',
  lastName: '/context/traits/lastName ?? /traits/lastName',
  externalId: '/userId',
  occurredAt: '/timestamp ?? /originalTimestamp',
  ipAddress: '/context/ip',
  userAgent: '/context/userAgent',
  pageUrl: '/context/page/url',
  referrer: '/context/page/referrer',
  'clickIds.gclid': page('gclid'),
  'clickIds.fbclid': page('fbclid'),
  'clickIds.ttclid': page('ttclid'),
  'clickIds.msclkid': page('msclkid'),
  'utm.source': '/context/campaign/source',
  'utm.medium': '/context/campaign/medium',
  'utm.campaign': '/context/campaign/name',
  'utm.term': '/context/campaign/term',
  'utm.content': '/context/campaign/content',
};

const order = {
  value: '/properties/total ?? /properties/revenue ?? /properties/value | number',
  currency: '/properties/currency',
  orderId: '/properties/order_id ?? /properties/orderId',
};

export const segment: Source = {
  name: 'segment',
  label: 'Segment, RudderStack, Jitsu',
  refusalStatus: 401,
  secret: 'generated',
  /** Segment signs. RudderStack and Jitsu send a header of the operator's choice with each request, which has the secret itself. */
  verify({ headers, body }, secret) {
    const signature = headerOf(headers, 'x-signature');
    if (signature !== undefined) return isEqual(signature, hmac('sha1', secret, 'hex', body)) ? undefined : 'signature';
    const bearer = headerOf(headers, 'authorization');
    if (bearer === undefined) return 'signature_missing';
    return isEqual(bearer, `Bearer ${secret}`) ? undefined : 'signature';
  },
  head(_, { type, event, messageId }) {
    const kind = textOf(type);
    if (kind === undefined) return undefined;
    const id = textOf(messageId);
    return { topic: (kind === 'track' ? textOf(event) : undefined) ?? kind, id, signedId: id };
  },
  sign: (_, body, secret) => ({ 'X-Signature': hmac('sha1', secret, 'hex', body) }),
  mapping: {
    'Order Completed': {
      event: "'purchase'",
      ...common,
      ...order,
      source: "'website'",
      'items[]': '/properties/products',
      'items[].id': '/product_id ?? /sku',
      'items[].name': '/name',
      'items[].quantity': '/quantity',
      'items[].price': '/price | number',
      'items[].category': '/category',
    },
    'Order Refunded': { correction: "'true'", event: "'refund'", ...common, ...order },
    'Signed Up': { event: "'signup'", ...common },
  },
};
