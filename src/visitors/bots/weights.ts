import { type BotReason } from '../../events/visitor.events.js';
/**
 * Counts the versions of what stands in this folder: the weights below, the rules that give them, isbot's patterns. A
 * judgement names it, so that whoever asks later why a visit was left out can tell by which rules.
 */
export const RULES = 1;

/** A score is the sum of its reasons' weights, at most this. */
export const CERTAIN = 100;

/**
 * What each reason adds to the likelihood of a bot. A site leaves visits out from 30 on unless it says otherwise: what
 * weighs 30 or more is enough alone, what weighs less needs company. docs/bots.md explains each of them.
 */
export const WEIGHTS = {
  // What the site itself has said.
  blocked_ip: CERTAIN,
  blocked_user_agent: CERTAIN,
  blocked_country: CERTAIN,
  // Software that says what it is.
  declared_crawler: 90,
  http_client: 90,
  headless: 90,
  automation: 90,
  // What no person does, save by a rare accident.
  honeypot: 50,
  no_user_agent: 30,
  // What few people do: each has an innocent explanation, several at once hardly.
  impossible_timing: 25,
  phone_without_touch: 20,
  odd_screen: 20,
  no_languages: 20,
  datacenter: 15,
  no_accept_language: 15,
  no_sec_fetch: 10,
  no_plugins: 10,
  // Stands alone, with a score of 0: the site vouches for the address.
  allowed_ip: 0,
} as const satisfies Record<BotReason, number>;
