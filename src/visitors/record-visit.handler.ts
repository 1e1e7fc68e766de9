import type { ICommandHandler } from '@nestjs/cqrs';
import type { BotVerdict, VisitorEvent, VisitPersonal, VisitSignals } from '../events/visitor.events.js';
import { CommandHandler } from '../kernel/command.js';
import type { AppendRequest } from '../log/event.js';
import { EventLog } from '../log/event-log.js';
import { BotScorer, siteRulesOf } from './bots/bot-scorer.js';
import { consentChanges } from './change-consent.handler.js';
import { clickPeople } from './click-people.js';
import { mayStoreVisit } from './consent.js';
import { botClaimKey, newVisitorStream } from './identifier-record.js';
import { reachesBotThreshold } from './matcher.js';
import { RecordVisit } from './record-visit.command.js';
import { anonymousSubject, landedMs, speakerOf } from './tag/visitor-cookie.js';
import type { NewVisitorEvent } from './visitor.js';

/** Bots are counted once per visit; the window is longer than any visit lasts. */
const BOT_CLAIM_WINDOW_MS = 24 * 60 * 60 * 1_000;

type VisitEvent = NewVisitorEvent & Extract<VisitorEvent, { type: 'visitor.visited.v1' | 'visitor.identified.v1' }>;

@CommandHandler(RecordVisit)
export class RecordVisitHandler implements ICommandHandler<RecordVisit> {
  constructor(
    private readonly log: EventLog,
    private readonly scorer: BotScorer,
  ) {}

  async execute(command: RecordVisit): Promise<void> {
    await Promise.all(this.decide(command).map((request) => this.log.append(request)));
  }

  /**
   * At most two events: the visit, and its detection as a bot. Without the required consent only the consent itself is
   * stored, whatever else the browser sent.
   */
  private decide(command: RecordVisit): AppendRequest[] {
    const { actor, site, message, request, visitor } = command;
    const { settings, host } = site;
    if (!mayStoreVisit(message.consent, settings.consentRequired) || !message.visit || !message.visitor) {
      // Without an email hash the subject would be the visitor id. Only a call of `consent` may store that without consent.
      return message.subject === undefined ? [] : consentChanges(actor, site, message, visitor);
    }

    const signals: VisitSignals = { ...message.signals, ...request };
    const verdict = this.scorer.score(signals, siteRulesOf(settings));
    const requests: AppendRequest[] = [];
    const visit = visitEvent(command, signals, verdict);
    if (visit) requests.push(newVisitorStream(actor, host, visit), ...clickVisits(command, visit));
    if (reachesBotThreshold(verdict, settings)) {
      const detected: NewVisitorEvent = {
        type: 'visitor.bot_detected.v1',
        data: { ...verdict, visit: message.visit, mode: settings.botMode },
        personal: { subject: message.subject ?? anonymousSubject(visitor, message.visitor) },
      };
      const claim = { key: botClaimKey(message.visit), windowMs: BOT_CLAIM_WINDOW_MS, weak: false };
      requests.push(newVisitorStream(actor, host, detected, claim));
    }
    return requests;
  }
}

/** The same landing, for each click by which a conversion without an email finds it. */
function clickVisits({ actor, site, message }: RecordVisit, visit: VisitEvent): AppendRequest[] {
  if (visit.type !== 'visitor.visited.v1') return [];
  const { subject: _, ...personal } = visit.personal;
  return clickPeople(site.settings, message.clicks).map((person) =>
    newVisitorStream(actor, site.host, { ...visit, type: 'visitor.clicked.v1', personal: { person, ...personal } }),
  );
}

/** Undefined for a page view without click ids and campaign fields: it would add nothing to the identifier record. */
function visitEvent(command: RecordVisit, signals: VisitSignals, bot: BotVerdict): VisitEvent | undefined {
  const { call, message, visitor: caller } = command;
  const { visitor: browser, visit = '', subject, page, referrer, first, utm, cookies, consent } = message;
  const clicks = clicksWithLandings(command);
  const isIdentified = call === 'identify' && subject !== undefined;
  const data = { visit, clicks: Object.keys(clicks), campaign: Object.keys(utm).length > 0, consent, bot };
  if (!isIdentified && data.clicks.length === 0 && !data.campaign) return undefined;
  const personal: VisitPersonal = {
    subject: subject ?? anonymousSubject(caller, browser),
    ...{ visitor: caller.id, known: caller.cookie !== undefined, sinceMs: caller.cookie?.sinceMs, browser },
    ...{ speaker: speakerOf(message, caller), page, referrer, clicks, first, utm, cookies, signals },
  };
  return { type: isIdentified ? 'visitor.identified.v1' : 'visitor.visited.v1', data, personal };
}

/**
 * The clicks with the times at which the service received their landings: from the cookie, or now if a known visitor reports a
 * landing. A click that comes with the email, or without a cookie, has none.
 */
function clicksWithLandings({
  call,
  message: { clicks },
  visitor: { cookie, nowMs },
}: RecordVisit): VisitPersonal['clicks'] {
  if (!cookie) return clicks;
  const landed = Object.entries(clicks).map(([kind, click]) => {
    const seenMs = landedMs(cookie, kind, click.id) ?? (call === 'collect' ? nowMs : undefined);
    return [kind, { ...click, ...(seenMs !== undefined && { landedMs: seenMs }) }] as const;
  });
  return Object.fromEntries(landed);
}
