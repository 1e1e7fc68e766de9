import { SAMPLE_CONVERSIONS } from '../../test/support/sample-conversions.js';
import { customFields, FIELD_SOURCES, isSelected, mappedEvent } from './event-mapping.js';

describe('event selection and mapping', () => {
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

describe('customFields', () => {
  const conversion = SAMPLE_CONVERSIONS['hashed-only'];

  it('reads every field source', () => {
    const settings = Object.fromEntries(FIELD_SOURCES.map((ours) => [`field.their_${ours}`, ours]));
    expect(customFields(settings, conversion)).toEqual({
      their_event: 'purchase',
      their_value: 129.9,
      their_currency: 'EUR',
      their_orderId: 'ORD-1001',
      their_conversionId: conversion.id,
    });
  });

  it('leaves out values that the conversion does not have', () => {
    const settings = { 'field.total': 'value', 'field.order': 'orderId', 'field.name': 'event' };
    expect(customFields(settings, SAMPLE_CONVERSIONS['lead-without-value'])).toEqual({ name: 'lead' });
  });

  it('ignores all other settings', () => {
    expect(customFields({ pixel_id: '1', events: 'purchase', 'event.purchase': 'value' }, conversion)).toEqual({});
  });
});
