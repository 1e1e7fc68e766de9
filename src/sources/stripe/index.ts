import { headerOf, hmac, isEqual, textOf } from '../signatures.js';
import type { Source } from '../source.js';

/** Older signatures are refused, as Stripe's own libraries do; so are those from a time that has not come. */
const TOLERANCE_S = 300;
const SIGNATURES_MAX = 8;

const OBJECT = '/data/object';
const CUSTOMER = `${OBJECT}/customer_details`;

const person = {
  firstName: `${CUSTOMER}/name | first_word`,
  lastName: `${CUSTOMER}/name | last_word`,
  city: `${CUSTOMER}/address/city`,
  region: `${CUSTOMER}/address/state`,
  postalCode: `${CUSTOMER}/address/postal_code`,
  country: `${CUSTOMER}/address/country`,
  externalId: `${OBJECT}/customer`,
};

const session = {
  // Other sessions are paid later, or not at all: `checkout.session.async_payment_succeeded` follows.
  when: `${OBJECT}/payment_status = paid, no_payment_required`,
  event: "'purchase'",
  email: `${CUSTOMER}/email ?? ${OBJECT}/customer_email`,
  phone: `${CUSTOMER}/phone`,
  ...person,
  value: `${OBJECT}/amount_total | minor_units ${OBJECT}/currency`,
  currency: `${OBJECT}/currency`,
  // The payment is what `payment_intent.succeeded` and refunds name, too. A subscription has none here.
  orderId: `${OBJECT}/payment_intent ?? ${OBJECT}/id`,
  occurredAt: '/created',
  source: "'website'",
};

export const stripe: Source = {
  name: 'stripe',
  label: 'Stripe',
  refusalStatus: 400,
  secret: 'given',
  verify({ headers, body }, secret, nowMs) {
    const header = headerOf(headers, 'stripe-signature');
    if (header === undefined) return 'signature_missing';
    let time: string | undefined;
    const signatures: string[] = [];
    for (const part of header.split(',').slice(0, 2 * SIGNATURES_MAX)) {
      const [name, value = ''] = part.trim().split('=', 2);
      if (name === 't') time = value;
      else if (name === 'v1' && signatures.length < SIGNATURES_MAX) signatures.push(value);
    }
    if (time === undefined || !/^\d{1,12}$/.test(time)) return 'signature';
    const expected = hmac('sha256', secret, 'hex', `${time}.`, body);
    if (!signatures.some((sent) => isEqual(sent, expected))) return 'signature';
    return Math.abs(nowMs / 1_000 - Number(time)) > TOLERANCE_S ? 'expired' : undefined;
  },
  head(_, { id, type, object }) {
    const [signedId, topic] = [textOf(id), textOf(type)];
    return object === 'event' && signedId !== undefined && topic !== undefined
      ? { topic, id: signedId, signedId }
      : undefined;
  },
  sign(_, body, secret, nowMs) {
    const time = Math.floor(nowMs / 1_000);
    return { 'Stripe-Signature': `t=${time},v1=${hmac('sha256', secret, 'hex', `${time}.`, body)}` };
  },
  mapping: {
    'checkout.session.completed': session,
    'checkout.session.async_payment_succeeded': session,
    'payment_intent.succeeded': {
      event: "'purchase'",
      email: `${OBJECT}/receipt_email ?? ${OBJECT}/charges/data/0/billing_details/email`,
      phone: `${OBJECT}/shipping/phone`,
      firstName: `${OBJECT}/shipping/name | first_word`,
      lastName: `${OBJECT}/shipping/name | last_word`,
      city: `${OBJECT}/shipping/address/city`,
      region: `${OBJECT}/shipping/address/state`,
      postalCode: `${OBJECT}/shipping/address/postal_code`,
      country: `${OBJECT}/shipping/address/country`,
      externalId: `${OBJECT}/customer`,
      value: `${OBJECT}/amount_received | minor_units ${OBJECT}/currency`,
      currency: `${OBJECT}/currency`,
      orderId: `${OBJECT}/id`,
      occurredAt: '/created',
      source: "'website'",
    },
    'charge.refunded': {
      correction: "'true'",
      event: "'refund'",
      email: `${OBJECT}/billing_details/email ?? ${OBJECT}/receipt_email`,
      // Of several partial refunds the charge states the sum.
      value: `${OBJECT}/amount_refunded | minus /data/previous_attributes/amount_refunded | minor_units ${OBJECT}/currency`,
      currency: `${OBJECT}/currency`,
      orderId: `${OBJECT}/payment_intent ?? ${OBJECT}/id`,
      occurredAt: '/created',
    },
  },
};
