import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { StoredEvent } from '../../src/log/event.js';
import type { EventLog } from '../../src/log/event-log.js';
import type { Site } from '../../src/sites/site.js';
import { loadBotList } from '../../src/visitors/bots/bot-list.js';
import { BotScorer } from '../../src/visitors/bots/bot-scorer.js';
import { ChangeConsent } from '../../src/visitors/change-consent.command.js';
import { ChangeConsentHandler } from '../../src/visitors/change-consent.handler.js';
import { mayStoreVisit, type StoredStatement } from '../../src/visitors/consent.js';
import { inlineOf } from '../../src/visitors/identifier-record.js';
import type { StoredIdentifier } from '../../src/visitors/person.js';
import { RecordVisit } from '../../src/visitors/record-visit.command.js';
import { RecordVisitHandler } from '../../src/visitors/record-visit.handler.js';
import { readTagMessage, type TagMessage } from '../../src/visitors/tag/tag-message.js';
import { callingVisitor, type VisitorCookie, withLandings } from '../../src/visitors/tag/visitor-cookie.js';
import type { VisitorRecord } from '../../src/visitors/visitor-record.js';

const BROWSER = 'Mozilla/5.0 (Windows NT 10.0; rv:115.0) Gecko/20100101 Firefox/115.0';
/** Reading the list takes longer than hundreds of calls. */
const SCORER = new BotScorer(loadBotList());
const CONSENTS = {
  none: undefined,
  granted: { ad_storage: 'granted', ad_user_data: 'granted' },
  denied: { ad_storage: 'denied' },
  gpc: { gpc: true },
  partial: { analytics_storage: 'granted' },
} as const;

/** One call of the tag's endpoints, as a property test draws it. */
export interface DrawnCall {
  /** Index of the browser that calls. */
  readonly by: number;
  readonly call: 'collect' | 'identify' | 'consent';
  readonly isBot: boolean;
  readonly consent: keyof typeof CONSENTS;
  readonly kinds: readonly string[];
  /** Age of the clicks that the browser states, in minutes. */
  readonly statedAge: number;
  readonly sendsCookie: boolean;
  readonly sendsStatement: boolean;
}

export function drawnCalls(
  consents: readonly DrawnCall['consent'][],
  options: { readonly bots: boolean; readonly max: number },
) {
  return fc.array(
    fc.record({
      by: fc.nat(2),
      call: fc.constantFrom('collect', 'identify', 'consent'),
      isBot: options.bots ? fc.boolean() : fc.constant(false),
      consent: fc.constantFrom(...consents),
      kinds: fc.subarray(['gclid', 'fbclid', 'ttclid']),
      statedAge: fc.nat(60),
      sendsCookie: fc.boolean(),
      sendsStatement: fc.boolean(),
    }),
    { maxLength: options.max },
  ) as fc.Arbitrary<DrawnCall[]>;
}

/** Browsers that call the tag's endpoints about one person, as the endpoints handle them. */
export class TagCallers {
  private readonly browsers = Array.from({ length: 3 }, () => ({
    id: randomUUID(),
    statement: randomUUID(),
    cookie: undefined as VisitorCookie | undefined,
  }));
  private readonly visits: RecordVisitHandler;
  private calls = 0;

  constructor(
    private readonly log: EventLog,
    private readonly site: Site,
    private readonly subject: string | undefined,
    /** Begins the click ids that these browsers report. */
    readonly name: string,
    private readonly nowMs: () => number,
  ) {
    this.visits = new RecordVisitHandler(log, SCORER);
  }

  async send({ by, call, isBot, consent, kinds, statedAge, sendsCookie, sendsStatement }: DrawnCall): Promise<void> {
    const browser = this.browsers[by] as (typeof this.browsers)[number];
    const nowMs = this.nowMs();
    this.calls += 1;
    const click = (kind: string) => ({ id: `${this.name}-${kind}-${this.calls}`, t: nowMs - statedAge * 60_000 });
    const message = readTagMessage(
      {
        ...{ v: 1, visitor: browser.id, visit: randomUUID(), hash: this.subject, consent: CONSENTS[consent] },
        statement: sendsStatement ? browser.statement : undefined,
        clicks: Object.fromEntries(kinds.map((kind) => [kind, click(kind)])),
      },
      nowMs,
    ) as TagMessage;
    const visitor = callingVisitor(sendsCookie ? browser.cookie : undefined, nowMs);
    if (call === 'consent')
      await new ChangeConsentHandler(this.log).execute(new ChangeConsent('tag', this.site, message, visitor));
    else {
      const request = { userAgent: isBot ? 'curl/8.0' : BROWSER };
      await this.visits.execute(new RecordVisit('tag', this.site, call, message, request, visitor));
    }
    if (!mayStoreVisit(message.consent, this.site.settings.consentRequired)) browser.cookie = undefined;
    else if (call !== 'consent') {
      const issued = visitor.cookie ?? { id: visitor.id, sinceMs: nowMs, landings: {} };
      browser.cookie = withLandings(issued, message.clicks, nowMs);
    }
  }
}

/** The record of a person, folded from its events as `cc.note_identifiers` and `cc.note_consent` do. */
export function foldRecord(events: readonly StoredEvent[], subject: string): VisitorRecord {
  const identifiers = new Map<string, StoredIdentifier>();
  const statements = new Map<string, StoredStatement>();
  for (const event of events) {
    const inline = inlineOf(event);
    if (!inline || event.personal?.subject !== subject) continue;
    const { visitor = '', speaker = '', consent } = inline;
    for (const { kind, at = Date.parse(event.time), landed, value } of inline.identifiers) {
      const key = `${visitor} ${kind}`;
      const known = identifiers.get(key);
      const isNewer = known === undefined || (kind === 'first' ? at < known[2] : at >= known[2]);
      if (isNewer) identifiers.set(key, [visitor, kind, at, landed ?? null, event.position, value]);
    }
    if (consent) statements.set(speaker, [speaker, event.position, consent]);
  }
  return { identifiers: [...identifiers.values()], consent: [...statements.values()] };
}
