import { publishedData } from '../kafka/cloud-event.js';
import { EVENT_SCHEMAS } from './index.js';
import { hasUnpublished, publishedFields } from './unpublished-fields.js';

const PLAIN = 'ab'.repeat(32);
const KEYED = 'a-_4'.repeat(11).slice(0, 43);

/** Every type whose data may hold the digest of a payload. */
const TYPES = Object.entries(EVENT_SCHEMAS).flatMap(([type, { data }]) =>
  Object.hasOwn(data.shape, 'bodySha256') ? [type] : [],
);

describe('the digest of a payload', () => {
  it('is in the events of deliveries', () => {
    expect(TYPES).toContain('conversion.delivered.v1');
    expect(TYPES).toContain('conversion.send_requested.v1');
  });

  it.each(TYPES)('is neither shown nor published if it is plain, in %s', (type) => {
    const data = { conversionId: 'c1', bodySha256: PLAIN, response: '{"bodySha256":"x"}' };
    const { bodySha256: _, ...shown } = data;
    expect(publishedFields(type, data)).toEqual(shown);
    expect(hasUnpublished(type, JSON.stringify(data))).toBe(true);
    expect(publishedData(type, JSON.stringify(data))).toBe(JSON.stringify(shown));
  });

  it.each(TYPES)('is shown and published if it is keyed, in %s', (type) => {
    const data = { conversionId: 'c1', bodySha256: KEYED, response: `"bodySha256":"${PLAIN}"` };
    expect(publishedFields(type, data)).toBe(data);
    expect(hasUnpublished(type, JSON.stringify(data))).toBe(false);
    expect(publishedData(type, JSON.stringify(data))).toBe(JSON.stringify(data));
  });
});

it('The hash of an API key is neither shown nor published', () => {
  const data = { keyId: 'k1', hash: PLAIN };
  expect(publishedFields('site.key_issued.v1', data)).toEqual({ keyId: 'k1' });
  expect(publishedData('site.key_issued.v1', JSON.stringify(data))).toBe('{"keyId":"k1"}');
});

it('Hashes and addresses that versions before 0.3 stored in settings are neither shown nor published', () => {
  const type = 'site.settings_changed.v1';
  const lists = { blocked: [PLAIN, '@example.com'], blockIps: ['192.0.2.1'], allowIps: ['2001:db8::/32'] };
  const data = { settings: { ...lists, botMode: 'enforce' } };
  const shown = { settings: { botMode: 'enforce' } };
  expect(publishedFields(type, data)).toEqual(shown);
  expect(publishedData(type, JSON.stringify(data))).toBe(JSON.stringify(shown));
  expect(publishedFields(type, shown)).toBe(shown);
  expect(hasUnpublished(type, JSON.stringify(shown))).toBe(false);
});
