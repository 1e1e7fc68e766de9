import type { ClickKind, Conversion, Visit } from '../../src/platforms/conversion.js';
import type { PersonalHashes } from '../../src/platforms/personal-hashes.js';
import type { Call, Platform, Settings } from '../../src/platforms/platform.js';
import { SAMPLE_CONVERSIONS } from './sample-conversions.js';

/** A purchase by somebody of whom nothing is known. */
export const BY_NOBODY: Conversion = { ...SAMPLE_CONVERSIONS['hashed-only'], hashes: { subject: '' } };

/** The same, but for what the browser told. */
export function knownBy(visit: Partial<Visit>): Conversion {
  return { ...BY_NOBODY, visit: { clicks: {}, cookies: {}, utm: {}, ...visit } };
}

/** A name whose every spelling has another digest. */
export const NAME_SPELLINGS: Partial<PersonalHashes> = {
  firstName: 'f',
  firstNameBare: 'f-bare',
  firstNameJoined: 'f-joined',
  firstNameUnpunctuated: 'f-unpunctuated',
  lastName: 'l',
  lastNameBare: 'l-bare',
  lastNameJoined: 'l-joined',
  lastNameUnpunctuated: 'l-unpunctuated',
};

/** The conversion as it is stored and sent: what JSON leaves of its payload. */
export function sentItem(platform: Platform, conversion: Conversion, settings: Settings) {
  const payload = platform.payload(conversion, settings);
  if ('skip' in payload) throw new Error(`skipped: ${payload.skip}`);
  return JSON.parse(JSON.stringify(payload.item));
}

/** A platform may know its own clicks, where it has any, and nothing that a page's address tells besides the page. */
export function itTellsNoClickButItsOwn(platform: Platform, settings: Settings, own?: ClickKind): void {
  it('tells no click id but its own, not even in the page’s address', () => {
    const { visit } = SAMPLE_CONVERSIONS['with-click-id'];
    const pageUrl = 'https://shop.example/?gclid=Gclid_AbC-123&email=jane@example.com';
    const conversion = { ...SAMPLE_CONVERSIONS['with-click-id'], visit: { ...visit, pageUrl } };
    const sent = JSON.stringify(sentItem(platform, conversion, settings));
    const told = Object.entries(visit.clicks).filter(([, { id }]) => sent.includes(id));
    expect(told.map(([kind]) => kind)).toEqual(own === undefined ? [] : [own]);
    expect(sent).not.toMatch(/gclid|jane/i);
  });
}

/** A call carries payloads byte for byte; in `body` they stand for `…`. */
export function itCarriesItemsAsTheyAre(platform: Platform, call: Call, body: string): void {
  it('carries several conversions in one call, byte for byte', () => {
    const items = ['{ "a": 1 }', '{"b":2.50}', '{"c":"é"}'];
    expect(platform.request(items, call).body).toBe(body.replace('…', items.join(',')));
  });
}
