import { type ConversionData } from '../events/conversion.events.js';
import type { StoredOpening } from './conversion.js';
import { differences } from './differences.js';

const data: ConversionData = {
  conversionId: 'c2',
  event: 'purchase',
  value: 1,
  currency: 'EUR',
  orderId: 'A',
  keyId: 'k',
  trial: false,
};
const personal = { subject: 's', firstName: 'f', lastName: 'l', phone: 'p' };
const first = { data: { ...data, conversionId: 'c1' }, personal } as unknown as StoredOpening;

describe('differences', () => {
  it('finds none in an identical repeat', () => {
    expect(differences(first, data, personal)).toEqual([]);
  });

  it.each([
    ['value', { value: 2 }, {}],
    ['currency', { currency: 'USD' }, {}],
    ['email', {}, { subject: 'x' }],
    ['firstName', {}, { firstName: 'x' }],
    ['lastName', {}, { lastName: 'x' }],
    ['phone', {}, { phone: 'x' }],
    ['occurredAt', { occurredAt: '2026-03-01T10:15:30.000Z' }, {}],
    ['source', { source: 'crm' as const }, {}],
    ['items', { items: [{ id: 'SKU-1', quantity: 2 }] }, {}],
    ['externalId', {}, { externalId: 'x' }],
    ['city', {}, { address: { city: 'Bonn' } }],
    ['clickIds', {}, { clickIds: { gclid: 'x' } }],
    ['ipAddress', {}, { ipAddress: '203.0.113.10' }],
    ['userAgent', {}, { userAgent: 'x' }],
  ])('names %s', (name, changedData, changedPersonal) => {
    expect(differences(first, { ...data, ...changedData }, { ...personal, ...changedPersonal })).toEqual([name]);
  });

  it('compares items and click ids by their contents', () => {
    const items = () => [{ id: 'SKU-1', quantity: 2 }];
    const stored = { data: { ...data, items: items() }, personal: { ...personal, clickIds: { gclid: 'x' } } };
    const repeat = { ...personal, clickIds: { gclid: 'x' } };
    expect(differences(stored as unknown as StoredOpening, { ...data, items: items() }, repeat)).toEqual([]);
  });

  it('reports a field that only one of the two has', () => {
    const { value: _, ...withoutValue } = data;
    expect(differences(first, withoutValue, { subject: 's' })).toEqual(['firstName', 'lastName', 'phone', 'value']);
  });

  it('compares only non-personal fields after erasure, and nothing without the first conversion', () => {
    expect(differences({ ...first, personal: null }, { ...data, value: 5 }, personal)).toEqual(['value']);
    expect(differences(undefined, data, personal)).toEqual([]);
  });
});
