import { createRequire } from 'node:module';
import { type SiteSettings } from '../events/site.events.js';
import { normaliseHost } from '../sites/host.js';

export type FilterReason = 'blocked_address' | 'blocked_domain' | 'disposable_address';

/**
 * Why the site filters this person's conversions. Decided by the email alone, never by the sender's User-Agent or IP: the
 * sender is a CRM or shop backend, not the person. `email` is missing when the sender
 * hashed it, and `subject` as well when the person is known by something else.
 */
export function filterReason(
  settings: SiteSettings,
  subject: string | undefined,
  email: string | undefined,
): FilterReason | undefined {
  if (settings.blocked.length === 0 && !settings.blockDisposable) return undefined;
  const domain = email === undefined ? undefined : domainOf(email);
  if (subject !== undefined && settings.blocked.includes(subject)) return 'blocked_address';
  if (domain !== undefined && settings.blocked.includes(`@${domain}`)) return 'blocked_domain';
  if (settings.blockDisposable && domain !== undefined && disposableDomains().has(domain)) return 'disposable_address';
  return undefined;
}

/** In the form in which blocked domains are stored: without a dot at the end, IDN as `xn--`. */
function domainOf(email: string): string {
  const domain = email.slice(email.indexOf('@') + 1);
  return normaliseHost(domain) ?? domain;
}

let disposable: ReadonlySet<string> | undefined;

/** Loaded on first use: the list has a hundred thousand domains. */
function disposableDomains(): ReadonlySet<string> {
  disposable ??= new Set(createRequire(import.meta.url)('disposable-email-domains') as string[]);
  return disposable;
}
