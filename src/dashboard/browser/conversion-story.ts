import { type OutcomeWord, outcomeWord } from '../../kernel/outcome-words.js';
import type { Schemas } from './api.js';
import { connectionTitle, counted, formatDuration, formatMoney, formatNumber, type Tone } from './format.js';
import { conversionPath } from './navigation.js';
import { reasonText } from './views/reason-view.js';

export type ConversionHistory = Schemas['ConversionHistory'];
export type Delivery = ConversionHistory['deliveries'][number];
export type Attempt = Delivery['attempts'][number];

export interface Fact {
  readonly name: string;
  readonly value: string;
  /** Where the value leads. */
  readonly path?: string;
  /** An id or another value to compare letter by letter. */
  readonly isCode?: boolean;
  /** The value is a time. */
  readonly isTime?: boolean;
}

/** One thing that was decided about a conversion: what, in words, and what is known about it. */
export interface Step {
  readonly time?: string;
  readonly title: string;
  readonly text?: string;
  readonly tone: Tone;
  readonly facts: readonly Fact[];
}

/** What happened to a conversion, in the order in which it is decided. What is not sent is matched to no visit. */
export function conversionStory(site: string, history: ConversionHistory): Step[] {
  const { status } = history.conversion;
  return [
    receivedStep(history),
    ...(status === 'received' ? [matchStep(history), consentStep(history)] : []),
    ...(status === 'deduplicated' ? [] : [botStep(history)]),
    duplicateStep(site, history),
    ...deliverySteps(history.deliveries),
  ];
}

export function amountOf({ value, currency }: { value?: number; currency: string }): string | undefined {
  return value === undefined ? undefined : formatMoney(value, currency);
}

function receivedStep({ conversion, events }: ConversionHistory): Step {
  const { conversionId, key, event, eventId, occurredAt, source, items, dropped, unknown, trial, correction } =
    conversion;
  const amount = amountOf(conversion);
  return {
    time: conversion.time,
    title: 'Received',
    text: key ? `with key “${key.name}” (${key.prefix}…)` : 'from an import',
    tone: 'wait',
    facts: [
      { name: 'Conversion', value: conversionId, isCode: true },
      { name: 'Event', value: amount === undefined ? event : `${event} · ${amount}` },
      ...known('Order', conversion.orderId),
      ...known('Event id', eventId).map((fact) => ({ ...fact, isCode: true })),
      ...known('Occurred', occurredAt).map((fact) => ({ ...fact, isTime: true })),
      ...known('Where', source?.replaceAll('_', ' ')),
      ...known('Items', items?.map(({ id, name, quantity = 1 }) => `${quantity} × ${name ?? id}`).join(', ')),
      ...known('Custom values', customText(events)),
      ...known('Not used', dropped && `${dropped.join(', ')}: not valid as sent`),
      ...known('Unknown fields', unknown?.join(', ')),
      ...known('Trial key', trial ? 'nothing is sent or counted' : undefined),
      ...known('Correction', correction ? 'of an earlier conversion of the order; not counted' : undefined),
    ],
  };
}

function matchStep({ conversion, match, masked, events }: ConversionHistory): Step {
  const sent = sentFacts(events);
  if (!match) {
    const title = conversion.matched ? 'Matched' : 'Not matched';
    const text = conversion.matched ? 'to a visit whose data was erased or has expired' : unmatchedText(conversion);
    return { title, text, tone: 'plain', facts: sent };
  }
  const occurredMs = Date.parse(conversion.occurredAt ?? conversion.time);
  const clicks = Object.entries(match.clicks).sort(([, one], [, other]) => other.timeMs - one.timeMs);
  const [newest] = clicks;
  const age = (timeMs: number) => formatDuration(Math.max(0, occurredMs - timeMs));
  const { source, medium, campaign, term, content } = match.utm;
  return {
    title: 'Matched',
    text: newest ? `to a click ${age(newest[1].timeMs)} earlier` : 'to a visit without an ad click',
    tone: 'wait',
    facts: [
      ...known('Source', [source, medium].filter(Boolean).join(' / ')),
      ...known('Campaign', [campaign, term, content].filter(Boolean).join(' · ')),
      ...clicks.map(([kind, { id, timeMs }]) => ({
        name: kind,
        value: masked ? `${age(timeMs)} earlier` : `${id} · ${age(timeMs)} earlier`,
        isCode: true,
      })),
      ...sent,
      ...known('Page', match.pageUrl),
      ...known('Referrer', match.referrer),
    ],
  };
}

/** Why no visit is used: there may be some that must not be. */
function unmatchedText({ withheld, botVisitors }: ConversionHistory['conversion']): string {
  if (withheld !== undefined) return `Visits of this person are not used: ${WITHHELD[withheld] ?? withheld}.`;
  if (botVisitors !== undefined) return 'The visits of this person look automated, and are left out.';
  return 'No visit of this person is known: the tag was not on the page, or the visit was under another email address.';
}

/** What the sender stated about the visit. Not known to a role that may not see personal data. */
function sentFacts([opening]: ConversionHistory['events']): Fact[] {
  const { clickIds, cookies, utm, pageUrl, referrer } = opening?.personal ?? {};
  return [
    ...[...entriesOf(clickIds), ...entriesOf(cookies)].map(([kind, id]) => ({
      name: `${kind} (sent)`,
      value: String(id),
      isCode: true,
    })),
    ...known(
      'Campaign (sent)',
      entriesOf(utm)
        .map(([, text]) => text)
        .join(' · '),
    ),
    ...known('Page (sent)', pageUrl as string | undefined),
    ...known('Referrer (sent)', referrer as string | undefined),
  ];
}

/** Personal, too: they can hold any text. */
function customText([opening]: ConversionHistory['events']): string {
  return entriesOf(opening?.personal?.['custom'])
    .map(([key, value]) => `${key}: ${value}`)
    .join(', ');
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

const CONSENTS: Readonly<Record<string, readonly [title: string, text: string, tone: Tone]>> = {
  granted: ['Consent granted', 'Platforms may use it for advertising.', 'ok'],
  denied: ['Consent denied', 'Platforms are told so.', 'warn'],
  unknown: ['Consent not known', 'The person stated none on this site.', 'plain'],
};
const WITHHELD: Readonly<Record<string, string>> = {
  opted_out: 'the person opted out',
  consent_missing: 'the site requires consent, and none was given',
  consent_unreadable: 'the consent record could not be read',
  undecided: 'the page denies by default, and the visitor has not decided',
  denied_by_sender: 'the sender denied it for this conversion',
};

function consentStep({ conversion: { withheld, personalization, sentConsent }, consent }: ConversionHistory): Step {
  const [title, text, tone] = CONSENTS[consent ?? 'unknown'] ?? ['Consent', String(consent), 'plain'];
  return {
    title,
    text,
    tone,
    facts: [
      ...known('Personalised ads', personalization),
      ...known(
        'Sent with it',
        entriesOf(sentConsent)
          .map(([field, state]) => `${field} ${state}`)
          .join(', '),
      ),
      ...known('Visit not sent', withheld && (WITHHELD[withheld] ?? withheld)),
    ],
  };
}

const FILTER_REASONS: Readonly<Record<string, string>> = {
  blocked_address: 'The email address is on the block list of the site.',
  blocked_domain: 'The domain of the email address is on the block list of the site.',
  disposable_address: 'The email address is a disposable one.',
  bot: 'The visits of this person look automated.',
};

/** The bot verdict with its reasons, and whether the conversion was filtered. */
function botStep({ conversion: { status, reason, bot, judged, botVisitors } }: ConversionHistory): Step {
  const isFiltered = status === 'filtered';
  const title = isFiltered ? 'Filtered out' : judged ? 'Looks like a bot' : 'Not a bot';
  const text = isFiltered
    ? `${FILTER_REASONS[reason ?? ''] ?? reason ?? ''} It is neither counted nor sent.`
    : judged
      ? botVisitors === undefined
        ? 'The site only observes bots: it is counted and sent.'
        : 'The traffic filters keep it: it is counted, and sent without these visits.'
      : bot
        ? 'The score is below the threshold of the site.'
        : 'No visit of this person gave a reason to suspect one.';
  return {
    title,
    text,
    tone: isFiltered || judged ? 'warn' : 'plain',
    facts: bot
      ? [
          { name: 'Bot score', value: `${formatNumber(bot.score)} of 100` },
          ...known('Reasons', bot.reasons.map((one) => one.replaceAll('_', ' ')).join(', ')),
          ...known('Visits left out', botVisitors === undefined ? undefined : formatNumber(botVisitors)),
        ]
      : [],
  };
}

/** Whether it is a duplicate, and which duplicates of it followed. */
function duplicateStep(site: string, { conversion, events }: ConversionHistory): Step {
  const { conversionId, status, firstConversionId, differs } = conversion;
  if (status === 'deduplicated')
    return {
      title: 'Duplicate',
      text: 'of an earlier conversion. It is neither counted nor sent.',
      tone: 'warn',
      facts: [
        ...known('First conversion', firstConversionId).map((fact) => ({
          ...fact,
          isCode: true,
          path: conversionPath(site, fact.value),
        })),
        ...known('Differs in', differs?.join(', ')),
      ],
    };
  const copies = events.filter(({ type, data }) => isDuplicate(type) && data['firstConversionId'] === conversionId);
  return {
    title: 'Not a duplicate',
    ...(copies.length > 0 && { text: `${counted(copies.length, 'duplicate')} followed, not counted.` }),
    tone: 'plain',
    facts: copies.slice(0, DUPLICATES_MAX).map(({ data }) => ({
      name: 'Duplicate',
      value: String(data['conversionId']),
      path: conversionPath(site, String(data['conversionId'])),
      isCode: true,
    })),
  };
}

const DUPLICATES_MAX = 5;

function isDuplicate(type: string): boolean {
  return type === 'conversion.deduplicated.v1';
}

const DELIVERED = /^(?:delivered|accepted|confirmed)$/;

/** Whether the platform accepted it. */
export function isDelivered(status: string): boolean {
  return DELIVERED.test(status);
}

const UNSETTLED = /^(?:queued|deferred|pending)$/;

/** Whether another attempt follows. */
export function isUnsettled(status: string): boolean {
  return UNSETTLED.test(status);
}

const GROUPS: readonly (readonly [word: OutcomeWord, preposition: string, tone: Tone])[] = [
  ['confirmed', 'by', 'ok'],
  ['delivered', 'to', 'ok'],
  ['accepted', 'by', 'ok'],
  ['checked', 'for', 'ok'],
  ['waiting', 'for', 'warn'],
  ['refused', 'by', 'bad'],
  ['not sent', 'to', 'plain'],
];

/** Deliveries with the same end are one step, at the time of the last of them. */
function deliverySteps(deliveries: readonly Delivery[]): Step[] {
  return GROUPS.flatMap(([word, preposition, tone]) => {
    const found = deliveries.filter(({ status, reason }) => outcomeWord(status, reason) === word);
    if (found.length === 0) return [];
    const [last] = found
      .flatMap(({ attempts }) => attempts.map(({ time }) => time))
      .sort()
      .reverse();
    return [
      {
        title: word.charAt(0).toUpperCase() + word.slice(1),
        text: `${preposition} ${found.map(({ platform }) => connectionTitle(platform)).join(', ')}`,
        tone,
        facts: found.flatMap(({ platform, reason }) =>
          known(connectionTitle(platform), reason === undefined ? undefined : reasonText(reason, platform)),
        ),
        ...(last !== undefined && { time: last }),
      },
    ];
  });
}

export interface AttemptView {
  readonly attempt: Attempt;
  readonly title: string;
  readonly details: string;
  /** When the platform is asked whether it counts the conversion, if that is still to come. */
  readonly asksAt?: string;
}

/** What each attempt was, and what is known about it. Once a platform has accepted a conversion, it is only asked about it. */
export function attemptViews(attempts: readonly Attempt[]): AttemptView[] {
  return attempts.map((attempt, index) => {
    const { status, httpStatus, durationMs, requestId, reason, unknown, nextTry } = attempt;
    const isAsked = attempts[index - 1]?.status === 'accepted' && isReport(status);
    const details = [
      httpStatus !== undefined && `HTTP ${httpStatus}`,
      durationMs !== undefined && formatDuration(durationMs),
      requestId !== undefined && `request ${requestId}`,
      unknown && 'the platform may have accepted it',
      reason !== undefined && reasonText(reason),
    ];
    const isLast = index === attempts.length - 1;
    return {
      attempt,
      title: isAsked ? 'Asked whether it counts' : `Attempt ${attempt.attempt}`,
      details: details.filter(Boolean).join(' · '),
      ...(isLast && status === 'accepted' && nextTry !== undefined && { asksAt: nextTry }),
    };
  });
}

function isReport(status: string): boolean {
  return status === 'accepted' || status === 'confirmed' || status === 'rejected';
}

function known(name: string, value: string | undefined): Fact[] {
  return value === undefined || value === '' ? [] : [{ name, value }];
}
