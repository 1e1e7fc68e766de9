import { buildPayload } from '../delivery/payload/payload.js';
import { sampleReceived } from '../delivery/payload/sample-conversion.js';
import type { Withhold } from '../delivery/payload/withholding.js';
import { type ReceivedConversion, withOptOut } from '../delivery/received-conversion.js';
import type { ConversionPersonal } from '../events/conversion.events.js';
import { type BuiltInPlatform, PLATFORMS } from '../platforms/index.js';
import type { Platform, PlatformName, Settings } from '../platforms/platform.js';
import { identifiersIn } from './used-identifiers.js';

/** What leaves to a platform after an opt-out, by what the site withholds, in words. */
export interface ConsentChoices extends Readonly<Record<Withhold, string>> {
  readonly platform: PlatformName;
  /** The setting of a connection that it is different with. */
  readonly setting?: string;
}

const CHOICES: readonly Withhold[] = ['identifiers', 'personal', 'everything'];

/** Settings that change what leaves. */
const VARIANTS: Readonly<Partial<Record<PlatformName, readonly [name: string, value: string]>>> = {
  microsoft_ads: ['mode', 'offline'],
  ga4: ['synthetic_client_id', 'yes'],
  segment: ['when_denied', 'skip'],
};

const WORDS: readonly (readonly [words: string, identifiers: readonly string[]])[] = [
  ['email', ['email']],
  ['phone', ['phone']],
  ['name', ['first_name', 'last_name']],
  ['address', ['city', 'region', 'postal_code', 'country']],
  ['customer id', ['external_id']],
  ['IP address', ['ip_address']],
  ['browser', ['user_agent']],
  ['click id', ['click_id']],
  ['cookie', ['cookie']],
];

/** Of every platform, found by building payloads of a fictitious conversion: a list beside the platforms' code would not follow it. */
export function consentChoices(): ConsentChoices[] {
  return PLATFORMS.flatMap((platform) => {
    const variant = VARIANTS[platform.name];
    const settings = { ...platform.demo };
    if (variant) delete settings[variant[0]];
    const choices = choicesOf(platform, settings);
    if (!variant) return [choices];
    const [name, value] = variant;
    return [choices, { setting: `${name}=${value}`, ...choicesOf(platform, { ...settings, [name]: value }) }];
  });
}

function choicesOf(platform: BuiltInPlatform, settings: Settings): ConsentChoices {
  const words = CHOICES.map((withhold) => [withhold, wordsOf(platform, settings, withhold)] as const);
  return { platform: platform.name, ...(Object.fromEntries(words) as Record<Withhold, string>) };
}

function wordsOf(platform: Platform, settings: Settings, withhold: Withhold): string {
  const { data, ...sample } = sampleReceived(0);
  // The opt-out is the person's: what a sender states with a conversion is shown elsewhere.
  const { sentConsent: _, ...stored } = data;
  const received: ReceivedConversion = { ...sample, data: stored };
  const denied = withOptOut(received);
  const build = (received: ReceivedConversion): string | undefined => {
    const selected = isMapped(platform, settings) ? settings : { ...settings, 'event.purchase': '1' };
    const payload = buildPayload(received, platform, selected, { withhold });
    return 'skip' in payload ? undefined : payload.body;
  };
  const body = build(denied);
  if (body === undefined) return 'nothing';
  const bodyOf = (personal: ConversionPersonal) => build(withOptOut({ ...received, personal })) ?? '';
  const used = identifiersIn(received.personal as ConversionPersonal, bodyOf).map(({ identifier }) => identifier);
  const named = WORDS.filter(([, identifiers]) => identifiers.some((identifier) => used.includes(identifier)));
  const personal = named.map(([words]) => words);
  const unflagged = build({ ...denied, data: { ...denied.data, consent: 'unknown' } });
  const what = personal.length > 0 ? `the conversion with ${listed(personal)}` : 'the conversion alone';
  return isFlagged(body, unflagged ?? '{}', denied.data.conversionId) ? `${what}, flagged` : what;
}

/** Whether the payload says something that the same one without a denial does not, except which conversion it is. */
function isFlagged(body: string, unflagged: string, conversionId: string): boolean {
  const known = new Set(leavesOf(JSON.parse(unflagged)));
  return leavesOf(JSON.parse(body)).some((leaf) => !known.has(leaf) && !leaf.includes(conversionId));
}

function leavesOf(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [`${path}=${value}`];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, `${path}.${name}`));
}

/** Without it any id will do, because nothing is sent. */
function isMapped(platform: Platform, settings: Settings): boolean {
  const payload = buildPayload(sampleReceived(0), platform, settings, {});
  return !('skip' in payload && payload.skip === 'event_not_mapped');
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
