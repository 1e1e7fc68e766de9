import { SAMPLE_CONVERSIONS } from '../../test/support/sample-conversions.js';
import {
  actionsProblem,
  canonicalSettings,
  checkCustomField,
  customFields,
  customObject,
  FIELD_SOURCES,
  isSelected,
  mappedActions,
  mappedEvent,
  payloadFor,
} from './event-mapping.js';
import { FIRST_PAYLOAD_VERSION } from './payload-version.js';

describe('event selection and mapping', () => {
  it('compares names in Unicode NFC and without white space at both ends, also those that earlier versions stored', () => {
    const settings = canonicalSettings({
      'event. fu\u0308r': '17',
      events: 'fu\u0308r, lead',
      refund_event: ' refund',
      pixel_id: '1',
    });
    expect(settings).toEqual({
      'event.f\u00fcr': '17',
      events: 'f\u00fcr, lead',
      refund_event: 'refund',
      pixel_id: '1',
    });
    for (const event of ['f\u00fcr', 'fu\u0308r ']) {
      expect(mappedEvent(settings, event)).toBe('17');
      expect(isSelected(settings, event)).toBe(true);
    }
  });

  it.each([
    [{}, 'purchase', undefined],
    [{ 'event.purchase': 'Sale' }, 'purchase', 'Sale'],
    [{ 'event.purchase': 'Sale' }, 'lead', undefined],
    [{ 'event.Booked a demo': '17' }, 'Booked a demo', '17'],
    [{ 'event.Purchase': 'Sale' }, 'purchase', undefined],
    [{}, 'constructor', undefined],
  ])('with %j maps %s to %s', (settings, event, theirs) => {
    expect(mappedEvent(settings, event)).toBe(theirs);
  });

  it.each([
    [{}, 'purchase', true],
    [{ events: 'purchase' }, 'purchase', true],
    [{ events: 'purchase' }, 'lead', false],
    [{ events: 'lead, purchase ,signup' }, 'purchase', true],
    [{ events: 'purchases' }, 'purchase', false],
    [{ events: '' }, 'purchase', false],
  ])('with %j and event %s returns %p', (settings, event, sent) => {
    expect(isSelected(settings, event)).toBe(sent);
  });
});

describe('conversion actions', () => {
  it('are one id or several', () => {
    expect(mappedActions({ 'event.purchase': '111' }, 'purchase')).toEqual(['111']);
    expect(mappedActions({ 'event.purchase': '111, 222' }, 'purchase')).toEqual(['111', '222']);
    expect(mappedActions({}, 'purchase')).toBeUndefined();
  });

  it.each<[string, string | undefined]>([
    ['1', undefined],
    ['1,2, 3', undefined],
    ['', 'event.a must be an id; separate several with commas'],
    ['1,', 'event.a must be an id; separate several with commas'],
    ['1;2', 'event.a must be an id; separate several with commas'],
    ['1,x', 'event.a must be an id; separate several with commas'],
    ['1,2,1', 'event.a has the same id twice'],
    ['1,2,3,4,5,6,7,8,9,10', undefined],
    ['1,2,3,4,5,6,7,8,9,10,11', 'event.a has more than 10 ids'],
  ])('are checked: %j', (value, problem) => {
    expect(actionsProblem('event.a', value, /^\d+$/, 'an id')).toBe(problem);
  });

  it('have one item each, and a single one has no list', () => {
    const itemFor = (action: string) => ({ action });
    expect(payloadFor(['1'], itemFor)).toEqual({ item: { action: '1' } });
    expect(payloadFor(['1', '2'], itemFor, 'g')).toEqual({
      item: [{ action: '1' }, { action: '2' }],
      actions: ['1', '2'],
      group: 'g',
    });
  });
});

describe('customFields', () => {
  const conversion = SAMPLE_CONVERSIONS['hashed-only'];

  const all = Object.fromEntries(FIELD_SOURCES.map((ours) => [`field.their_${ours}`, ours]));
  const ofEvery = {
    their_event: 'purchase',
    their_value: 129.9,
    their_currency: 'EUR',
    their_orderId: 'ORD-1001',
    their_conversionId: conversion.id,
    their_occurredAt: '2026-03-01T10:15:30.000Z',
  };

  it('reads every field source', () => {
    expect(customFields(all, conversion)).toEqual(ofEvery);
    expect(customFields(all, SAMPLE_CONVERSIONS['by-phone'])).toEqual({
      ...ofEvery,
      their_source: 'phone_call',
      their_itemCount: 4,
      their_externalId: 'Customer-42',
      their_city: 'Los Angeles',
      their_region: 'CA',
      their_postalCode: '90001',
      their_country: 'US',
    });
  });

  it('leaves out personal values after an opt-out', () => {
    expect(customFields(all, { ...SAMPLE_CONVERSIONS['by-phone'], consent: 'denied' })).toEqual({
      ...ofEvery,
      their_source: 'phone_call',
      their_itemCount: 4,
      their_country: 'US',
    });
  });

  it('leaves out values that the conversion does not have', () => {
    const settings = { 'field.total': 'value', 'field.order': 'orderId', 'field.name': 'event' };
    expect(customFields(settings, SAMPLE_CONVERSIONS['lead-without-value'])).toEqual({ name: 'lead' });
  });

  it('ignores all other settings', () => {
    expect(customFields({ pixel_id: '1', events: 'purchase', 'event.purchase': 'value' }, conversion)).toEqual({});
  });

  it('reads the custom values of the sender', () => {
    const custom = { profit: 4.5, 'new customer': true, 'a.b': 'x' };
    const settings = {
      'field.profit': 'custom.profit',
      'field.new': 'custom.new customer',
      'field.dotted': 'custom.a.b',
      'field.none': 'custom.tax',
      'field.inherited': 'custom.constructor',
    };
    expect(customFields(settings, { ...conversion, custom })).toEqual({ profit: 4.5, new: true, dotted: 'x' });
    expect(customFields(settings, conversion)).toEqual({});
  });

  it('contains constants', () => {
    expect(customFields({ 'field.plan': '"gold "', 'field.empty': '""', 'field.quote': '"a"b"' }, conversion)).toEqual({
      plan: 'gold ',
      empty: '',
      quote: 'a"b',
    });
  });
});

describe('customObject', () => {
  const conversion = SAMPLE_CONVERSIONS['hashed-only'];
  const settings = { 'field.user.plan': '"gold"', 'field.user.order.id': 'orderId', 'field.total': 'value' };

  it('contains an object for each dot in a name', () => {
    expect(customObject(settings, conversion)).toEqual({
      user: { plan: 'gold', order: { id: 'ORD-1001' } },
      total: 129.9,
    });
  });

  it('keeps the later one of two fields of which one contains the other', () => {
    expect(customObject({ 'field.a': 'event', 'field.a.b': 'value' }, conversion)).toEqual({ a: { b: 129.9 } });
    expect(customObject({ 'field.a.b': 'value', 'field.a': 'event' }, conversion)).toEqual({ a: 'purchase' });
  });

  it('contains the names as they are in the first version', () => {
    const first = { ...conversion, payloadVersion: FIRST_PAYLOAD_VERSION };
    expect(customObject(settings, first)).toEqual({ 'user.plan': 'gold', 'user.order.id': 'ORD-1001', total: 129.9 });
  });
});

describe('checkCustomField', () => {
  it.each([
    ['total', 'value'],
    ['total', 'custom.profit'],
    ['user.plan', '"gold"'],
    ['user.plan', '""'],
  ])('accepts %s=%s', (theirs, source) => {
    expect(checkCustomField(theirs, source)).toBeUndefined();
  });

  it.each([
    ['total', 'email', /^must be one of event, .*, or a text in double quotes$/],
    ['total', 'gold', /^must be one of/],
    ['total', 'custom.', /^must be one of/],
    ['total', '"gold', /^must be one of/],
    ['user..plan', 'value', /^the name of the field/],
    ['.plan', 'value', /^the name of the field/],
    ['__proto__.plan', 'value', /^the name of the field/],
  ])('refuses %s=%s', (theirs, source, problem) => {
    expect(checkCustomField(theirs, source)).toMatch(problem);
  });
});
