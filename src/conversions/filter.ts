import { createRequire } from 'node:module';
import { type SiteSettings } from '../events/site.events.js';

export type FilterReason = 'blocked_address' | 'blocked_domain' | 'disposable_address';

/**
 * Whether the site does not want to hear of this person. Judged by the address alone, never by the sender's User-Agent
 * or IP: a CRM is an HTTP client. `email` is missing where the sender hashed the address itself.
 */
export function filterReason(
  settings: SiteSettings,
  subject: string,
  email: string | undefined,
): FilterReason | undefined {
  if (settings.blocked.length === 0 && !settings.blockDisposable) return undefined;
  const domain = email?.slice(email.indexOf('@') + 1);
  if (settings.blocked.includes(subject)) return 'blocked_address';
  if (domain !== undefined && settings.blocked.includes(`@${domain}`)) return 'blocked_domain';
  if (settings.blockDisposable && domain !== undefined && disposableDomains().has(domain)) return 'disposable_address';
  return undefined;
}

let disposable: ReadonlySet<string> | undefined;

/** A hundred thousand names: loaded when the first site asks for them. */
function disposableDomains(): ReadonlySet<string> {
  disposable ??= new Set(createRequire(import.meta.url)('disposable-email-domains') as string[]);
  return disposable;
}
