import { z } from 'zod';
import { type SettingsRequest, SITE_FLAGS } from '../../sites/site-settings.js';

const text = z.string().max(255);
const list = z.array(text).max(10_000);

export const siteSettingsSchema = z
  .object({
    dedupWindow: z.string().meta({ description: 'How long a repeated conversion is a duplicate.', example: '24h' }),
    botThreshold: z.int().min(0).max(100),
    botMode: z.enum(['observe', 'enforce']),
    botFilter: z.enum(['leads', 'all', 'none']),
    consentRequired: z.boolean(),
    withhold: z.enum(['identifiers', 'personal', 'everything']),
    country: z.string().nullable(),
    origins: list,
    blocked: list.meta({
      description:
        'Addresses as SHA-256, domains as @example.com. A caller who may only read sees ••• for addresses and IPs.',
    }),
    blockDisposable: z.boolean(),
    blockIps: list,
    allowIps: list,
    blockUserAgents: list,
    blockCountries: list,
    emailCapture: z.boolean(),
    identifyBy: z.enum(['email', 'any']).meta({
      description: 'any: a conversion without an email is accepted with a phone, an external id or a click id.',
    }),
    strictFields: z.boolean(),
    currency: z.string().nullable().meta({ description: 'What a value without a currency is in; null: USD.' }),
  })
  .meta({ id: 'SiteSettings' });

const listChange = z.object({ add: list.optional(), remove: list.optional() }).strict();

/** Null restores the default. Lists are changed by what is added and removed, so that two people can change one at a time. */
export const settingsChangeSchema = z
  .object({
    dedupWindow: text.nullable(),
    botThreshold: z.int().min(0).max(100).nullable(),
    botMode: z.enum(['observe', 'enforce']).nullable(),
    botFilter: z.enum(['leads', 'all', 'none']).nullable(),
    consentRequired: z.boolean().nullable(),
    withhold: z.enum(['identifiers', 'personal', 'everything']).nullable(),
    country: text.nullable(),
    origins: listChange,
    blocked: listChange,
    blockDisposable: z.boolean().nullable(),
    blockIps: listChange,
    allowIps: listChange,
    blockUserAgents: listChange,
    blockCountries: listChange,
    emailCapture: z.boolean().nullable(),
    identifyBy: z.enum(['email', 'any']).nullable(),
    strictFields: z.boolean().nullable(),
    currency: text.nullable(),
  })
  .partial()
  .strict()
  .meta({ id: 'SiteSettingsChange' });

/** The same change as options of "sites set". */
export function settingsRequest(change: z.output<typeof settingsChangeSchema>): SettingsRequest {
  const set: { flag: string; value: string }[] = [];
  const unset: string[] = [];
  for (const [flag, { setting }] of Object.entries(SITE_FLAGS)) {
    const value = change[setting];
    if (value === undefined) continue;
    if (value === null) unset.push(flag);
    else if (typeof value === 'object') {
      for (const entry of value.remove ?? []) unset.push(`${flag}=${entry}`);
      for (const entry of value.add ?? []) set.push({ flag, value: entry });
    } else set.push({ flag, value: typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value) });
  }
  return { set, unset };
}
