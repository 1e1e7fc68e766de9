import type { VisitSignals } from '../events/visitor.events.js';
import { type BotVerdict, VISITOR, type VisitPersonal } from '../events/visitor.events.js';
import { derivedUuid, uuidv7 } from '../kernel/uuid.js';
import type { AppendRequest } from '../log/event.js';
import type { LoadedSite } from '../sites/site-directory.js';
import { type BotJudge, siteRulesOf } from './bots/judge.js';
import { meaningOf } from './consent.js';
import { inlineOf } from './identifier-record.js';
import { isJudgedBot } from './matcher.js';
import type { TagMessage } from './tag-message.js';
import { type NewVisitorEvent, visitorSubject } from './visitor.js';

/** What the tag can tell. */
export type TagCall = 'collect' | 'identify' | 'consent';

/** What the request itself shows, beside what the tag says in it. */
export type RequestSignals = Pick<VisitSignals, 'ip' | 'userAgent' | 'country' | 'headers'>;

/** One visit is counted as a bot's once, whatever it does; longer than any visit lasts. */
const BOT_ONCE_MS = 24 * 60 * 60 * 1_000;

/**
 * What is to be stored of a call of the tag: nothing, one thing, or two. Where the visitor has not agreed, or has said
 * no, nothing but that is kept, whatever the browser may have sent.
 */
export function decideVisit(
  call: TagCall,
  message: TagMessage,
  request: RequestSignals,
  { site }: LoadedSite,
  judge: BotJudge,
): AppendRequest[] {
  const { settings, host } = site;
  const said = meaningOf(message.consent);
  const mayKeep = said === 'granted' || (said === 'unknown' && !settings.consentRequired);
  if (call === 'consent' || !mayKeep || !message.visit || !message.visitor) {
    // A visitor's own id is kept with a word that was meant to be told, not with a visit that nobody agreed to.
    const words = call === 'consent' || message.subject !== undefined ? consentEvent(message) : undefined;
    return words ? [opened(host, words)] : [];
  }

  const signals: VisitSignals = { ...message.signals, ...request };
  const bot = judge.judge(signals, siteRulesOf(settings));
  const seen = visitEvent(call, message, signals, bot);
  const requests = seen ? [opened(host, seen)] : [];
  return !isJudgedBot(bot, settings)
    ? requests
    : [...requests, botRequest(host, { ...bot, visit: message.visit, mode: settings.botMode }, message)];
}

function visitEvent(
  call: 'collect' | 'identify',
  message: TagMessage,
  signals: VisitSignals,
  bot: BotVerdict,
): NewVisitorEvent | undefined {
  const { visitor = '', visit = '', subject, page, referrer, clicks, first, utm, cookies, consent } = message;
  const isIdentified = call === 'identify' && subject !== undefined;
  const data = { visit, clicks: Object.keys(clicks), campaign: Object.keys(utm).length > 0, consent, bot };
  // A landing that brought nothing is not worth a line in the log.
  if (!isIdentified && data.clicks.length === 0 && !data.campaign) return undefined;
  const personal: VisitPersonal = {
    subject: subject ?? visitorSubject(visitor),
    ...{ visitor, page, referrer, clicks, first, utm, cookies, signals },
  };
  return { type: isIdentified ? 'visitor.identified.v1' : 'visitor.visited.v1', data, personal };
}

/** Somebody's word; what nobody can be found by is not kept. */
function consentEvent({ consent, visit, visitor, subject }: TagMessage): NewVisitorEvent | undefined {
  const whose = subject ?? (visitor && visitorSubject(visitor));
  if (!consent || whose === undefined) return undefined;
  return { type: 'visitor.consent_changed.v1', data: { visit, consent }, personal: { subject: whose } };
}

function opened(site: string, event: NewVisitorEvent): AppendRequest {
  const inline = inlineOf(event);
  return { ...stream(site), events: [{ ...event, inline }] };
}

function stream(site: string): Omit<AppendRequest, 'events'> {
  return { category: VISITOR, stream: uuidv7(), expected: 'new', site, actor: 'tag' };
}

function botRequest(
  site: string,
  data: (NewVisitorEvent & { type: 'visitor.bot_detected.v1' })['data'],
  { subject, visitor = '' }: TagMessage,
): AppendRequest {
  const personal = { subject: subject ?? visitorSubject(visitor) };
  return {
    ...stream(site),
    events: [{ type: 'visitor.bot_detected.v1', data, personal }],
    claim: { key: botClaim(data.visit), windowMs: BOT_ONCE_MS, weak: false },
  };
}

/** The key that a visit's first detection holds. */
export function botClaim(visit: string): string {
  return derivedUuid(`bot ${visit}`);
}
