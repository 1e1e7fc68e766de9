/**
 * Version of the payloads that this build gives new conversions. A conversion keeps the version it was received with: a platform
 * may have accepted it without saying so, and must get the same bytes again after an upgrade. `replay deliveries` uses the
 * current version where the platform cannot have accepted an earlier one.
 *
 * A change of any platform's payload for conversions that could be sent before needs a new version:
 * 2: X receives the currency of amounts. After an opt-out X, LinkedIn and Microsoft's offline conversions
 *    receive nothing, and Segment no hashed email. A dot in the name of a custom field leads to an object inside. LinkedIn and
 *    Microsoft receive a customer id that is a SHA-256 already unchanged. Google receives consent to personalised advertising.
 * 3: TikTok's event source and Meta's CRM events follow the source of a conversion. X receives an IP address or a user agent alone.
 * 4: GA4 receives the campaign that a sender states.
 */
export const PAYLOAD_VERSION = 4;

/** The first versions of what the list says. */
export const BY_SOURCE_VERSION = 3;
export const LONE_DEVICE_VERSION = 3;
export const CAMPAIGN_VERSION = 4;

/** Version of the payloads of events without a version. */
export const FIRST_PAYLOAD_VERSION = 1;
