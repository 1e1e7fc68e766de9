import { type DataSchema, type JsonSchema, type SchemasOf, time, uuid } from '../log/event-schema.js';
import type { Judgement } from './bots/judge.js';
import type { ConsentState } from './consent.js';
import type { VisitData, VisitorEvent } from './visitor.js';

const word: JsonSchema = { type: 'string', enum: ['granted', 'denied'] };
const count: JsonSchema = { type: 'integer', minimum: 0 };
const visit: JsonSchema = { ...uuid, description: 'Of the visit, random.' };
const mode: JsonSchema = { type: 'string', enum: ['observe', 'enforce'], description: "The site's mode then." };

export const consentSchema: DataSchema<ConsentState> = {
  type: 'object',
  description: 'What the visitor said, in the fields of Consent Mode v2; gpc: by Global Privacy Control.',
  properties: {
    ad_storage: word,
    ad_user_data: word,
    ad_personalization: word,
    analytics_storage: word,
    gpc: { type: 'boolean', const: true },
  },
  required: [],
  additionalProperties: false,
};

const judged: DataSchema<Judgement>['properties'] = {
  score: { type: 'integer', minimum: 0, maximum: 100, description: 'How likely it is a bot.' },
  reasons: { type: 'array', items: { type: 'string' } },
  list: { type: 'string', description: 'Versions of the list and of the rules.' },
};
const required = ['score', 'reasons', 'list'] as const;

export const judgementSchema: DataSchema<Judgement> = {
  type: 'object',
  properties: judged,
  required,
  additionalProperties: false,
};

const visited: DataSchema<VisitData> = {
  type: 'object',
  properties: {
    visit,
    clicks: { type: 'array', items: { type: 'string' }, description: 'Kinds of click ids it brought.' },
    campaign: { type: 'boolean', description: 'Whether it brought UTM fields.' },
    consent: consentSchema,
    bot: judgementSchema,
  },
  required: ['visit', 'clicks', 'campaign', 'bot'],
  additionalProperties: false,
};

export const visitorSchemas: SchemasOf<VisitorEvent> = {
  'visitor.visited.v1': { summary: 'A landing that brought click ids or a campaign.', data: visited },
  'visitor.identified.v1': { summary: 'A visitor told an email: the visit now belongs to a person.', data: visited },
  'visitor.consent_changed.v1': {
    summary: 'A visitor said something about consent.',
    data: {
      type: 'object',
      properties: { visit, consent: consentSchema },
      required: ['consent'],
      additionalProperties: false,
    },
  },
  'visitor.bot_detected.v1': {
    summary: 'A visit was taken for a bot’s. At most one a visit.',
    data: {
      type: 'object',
      properties: { visit, mode, ...judged },
      required: ['visit', 'mode', ...required],
      additionalProperties: false,
    },
  },
  'visitor.rejudged.v1': {
    summary: 'A visit was judged anew, with another list or other rules.',
    data: {
      type: 'object',
      properties: {
        bot: judgementSchema,
        mode,
        from: { ...count, description: 'The score before.' },
        seenAt: { ...time, description: 'When the visit was.' },
      },
      required: ['bot', 'mode', 'from', 'seenAt'],
      additionalProperties: false,
    },
  },
  'visitor.erased.v1': {
    summary: 'A person asked to be forgotten: how much was, and nothing of whom.',
    data: {
      type: 'object',
      properties: { events: count, identifiers: count, claims: count },
      required: ['events', 'identifiers', 'claims'],
      additionalProperties: false,
    },
  },
};
