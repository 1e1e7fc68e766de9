import { type BotReason } from '../../events/visitor.events.js';

/**
 * Version of the scoring: the weights below, the rules of this folder and the patterns of isbot. Each verdict contains it,
 * so that it is clear later which rules filtered a visit.
 */
export const RULES = 1;

/** The highest score. A score is the sum of the weights of its reasons, capped at this. */
export const CERTAIN = 100;

/**
 * What each reason adds to the score. The default threshold of a site is 30: a weight of 30 or more suffices alone, smaller
 * ones only in combination. docs/bots.md explains each reason.
 */
export const WEIGHTS = {
  // Rules of the site.
  blocked_ip: CERTAIN,
  blocked_user_agent: CERTAIN,
  blocked_country: CERTAIN,
  // Software that declares itself.
  declared_crawler: 90,
  http_client: 90,
  headless: 90,
  automation: 90,
  // No person does this, except by accident.
  honeypot: 50,
  no_user_agent: 30,
  // Rare for people: each has an innocent explanation, several at once hardly do.
  impossible_timing: 25,
  phone_without_touch: 20,
  odd_screen: 20,
  no_languages: 20,
  datacenter: 15,
  no_accept_language: 15,
  no_sec_fetch: 10,
  no_plugins: 10,
  // Always the only reason, with a score of 0: the site trusts the address.
  allowed_ip: 0,
} as const satisfies Record<BotReason, number>;
