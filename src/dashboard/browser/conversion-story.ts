import type { Schemas } from './api.js';
import { connectionTitle, formatMoney, type Tone } from './format.js';

export type ConversionHistory = Schemas['ConversionHistory'];
export type Delivery = ConversionHistory['deliveries'][number];

/** One thing that happened to a conversion: what, in words, and what is known about it. */
export interface Step {
  readonly time?: string;
  readonly title: string;
  readonly text?: string;
  readonly tone: Tone;
  readonly facts: readonly (readonly [string, string])[];
}

/** What happened to a conversion, in the order in which it is decided. */
export function conversionStory(history: ConversionHistory): Step[] {
  const { conversion } = history;
  return [
    receivedStep(history),
    ...verdictSteps(history),
    matchStep(history),
    ...deliverySteps(history.deliveries),
  ].map((step) => (step.title === 'Received' ? { ...step, time: conversion.time } : step));
}

export function amountOf({ value, currency }: { value?: number; currency: string }): string | undefined {
  return value === undefined ? undefined : formatMoney(value, currency);
}

function receivedStep({ conversion }: ConversionHistory): Step {
  const { key, event, occurredAt, source, items, trial } = conversion;
  const amount = amountOf(conversion);
  return {
    title: 'Received',
    text: key ? `with key “${key.name}” (${key.prefix}…)` : 'from an import',
    tone: 'wait',
    facts: facts([
      ['Event', amount === undefined ? event : `${event} · ${amount}`],
      ['Order', conversion.orderId],
      ['Occurred', occurredAt],
      ['Source', source],
      ['Items', items?.map(({ id, quantity = 1 }) => `${quantity} × ${id}`).join(', ')],
      ['Trial', trial ? 'yes: nothing is sent or counted' : undefined],
    ]),
  };
}

/** Why it is not counted, if it is not, and the bot verdict. */
function verdictSteps({ conversion }: ConversionHistory): Step[] {
  const { status, reason, firstConversionId, differs, bot } = conversion;
  const steps: Step[] = [];
  if (status === 'deduplicated')
    steps.push({
      title: 'Duplicate',
      text: 'of an earlier conversion; neither counted nor sent',
      tone: 'warn',
      facts: facts([
        ['First', firstConversionId],
        ['Differs in', differs?.join(', ')],
      ]),
    });
  if (status === 'filtered')
    steps.push({
      title: 'Filtered',
      text: 'neither counted as a conversion nor sent',
      tone: 'warn',
      facts: facts([['Reason', reason]]),
    });
  if (bot)
    steps.push({
      title: 'Judged',
      text: conversion.judged ? 'as a bot' : 'as a person',
      tone: conversion.judged ? 'warn' : 'plain',
      facts: facts([
        ['Bot score', `${bot.score} of 100`],
        ['Reasons', bot.reasons.join(', ')],
      ]),
    });
  return steps;
}

function matchStep({ conversion, match, consent }: ConversionHistory): Step {
  const consentFacts: readonly (readonly [string, string | undefined])[] = [
    ['Consent', consent ?? 'not stated'],
    ['Withheld', conversion.withheld?.replaceAll('_', ' ')],
  ];
  if (!match)
    return {
      title: conversion.matched ? 'Matched' : 'Not matched',
      text: conversion.matched ? 'to a visit that was erased' : 'to a visit: no click is known for this person',
      tone: 'plain',
      facts: facts(consentFacts),
    };
  const { utm, clicks, pageUrl, referrer } = match;
  return {
    title: 'Matched',
    text: 'to a visit of the same person',
    tone: 'wait',
    facts: facts([
      ['Campaign', [utm['source'], utm['medium'], utm['campaign']].filter(Boolean).join(' / ')],
      ...Object.entries(clicks).map(([kind, { id }]) => [kind, id] as const),
      ['Page', pageUrl],
      ['Referrer', referrer],
      ...consentFacts,
    ]),
  };
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

const GROUPS: readonly (readonly [title: string, tone: Tone, pattern: RegExp])[] = [
  ['Delivered', 'ok', DELIVERED],
  ['Validated', 'ok', /^validated$/],
  ['Waiting', 'warn', UNSETTLED],
  ['Rejected', 'bad', /^(?:rejected|failed)$/],
  ['Skipped', 'plain', /^skipped$/],
];

/** Deliveries with the same end are one step, at the time of the last of them. */
function deliverySteps(deliveries: readonly Delivery[]): Step[] {
  return GROUPS.flatMap(([title, tone, pattern]) => {
    const found = deliveries.filter(({ status }) => pattern.test(status));
    if (found.length === 0) return [];
    const [last] = found
      .flatMap(({ attempts }) => attempts.map(({ time }) => time))
      .sort()
      .reverse();
    return [
      {
        title,
        text: `${title === 'Delivered' ? 'to' : 'for'} ${found.map(({ platform }) => connectionTitle(platform)).join(', ')}`,
        tone,
        facts: [],
        ...(last !== undefined && { time: last }),
      },
    ];
  });
}

function facts(all: readonly (readonly [string, string | undefined])[]): Step['facts'] {
  return all.filter((fact): fact is readonly [string, string] => fact[1] !== undefined && fact[1] !== '');
}
