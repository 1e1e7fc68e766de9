import { EVENT_SCHEMAS, type EventType } from '../events/index.js';

/** By the first word of the event types on it. */
const CHANNELS: Readonly<Record<string, string>> = {
  conversion: 'Conversions, and what became of them at each platform.',
  visitor: 'Visits, identified visitors, consent, and what was judged a bot.',
  site: 'Sites, their keys, settings and platforms.',
  auth: 'Failed authentications.',
  outbound: 'The pushes of totals.',
};
const TOPICS: Readonly<Record<string, string>> = {
  conversion: 'conversions',
  visitor: 'visitors',
  site: 'sites',
  auth: 'auth',
  outbound: 'outbound',
};

const DESCRIPTION = `What the event log holds, on Kafka: every event once it is committed, in order, with nothing about a person in it.

The key of a record is the event's stream, so all events of one conversion or site lie in one partition, in the order in
which they happened. The value is the event's \`data\`; what else is known of it stands in the headers (CloudEvents 1.0,
binary mode).

**The reader's rule.** Within a partition \`cc_position\` grows. A producer that dies may have its last records written once
more by the next one. So remember, for each partition, the last \`cc_position\` you have processed, together with what you
made of it, and drop every record whose \`cc_position\` is not above it. Then each event counts once.`;

const HEADERS = {
  type: 'object',
  required: [
    'ce_specversion',
    'ce_id',
    'ce_type',
    'ce_source',
    'ce_subject',
    'ce_time',
    'content-type',
    'cc_position',
    'cc_site',
    'cc_version',
  ],
  properties: {
    ce_specversion: { type: 'string', const: '1.0' },
    ce_id: { type: 'string', format: 'uuid', description: "The event's own id." },
    ce_type: { type: 'string', description: 'Such as conversion.received.v1. A changed shape gets a new number.' },
    ce_source: { type: 'string', description: '/clean-conversions/<cell>' },
    ce_subject: { type: 'string', description: 'The stream: <category>-<id>. Also the key of the record.' },
    ce_time: { type: 'string', format: 'date-time', description: 'When it was appended, by the database’s clock.' },
    'content-type': { type: 'string', const: 'application/json' },
    cc_position: {
      type: 'string',
      pattern: '^[0-9]+$',
      description: 'Its place in the log. Grows within a partition.',
    },
    cc_site: { type: 'string', description: 'The host of the site.' },
    cc_version: { type: 'string', pattern: '^[0-9]+$', description: 'Its number in its stream, from 1.' },
  },
} as const;

/** The topics, described as AsyncAPI 3 from the schemas that the rooms keep of their events. */
export function asyncApiDocument(topicPrefix = 'cc.') {
  const types = Object.keys(EVENT_SCHEMAS) as EventType[];
  const categories = Object.keys(CHANNELS).filter((category) => types.some((type) => type.startsWith(`${category}.`)));
  const typesOf = (category: string) => types.filter((type) => type.startsWith(`${category}.`));
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Clean Conversions events',
      version: '1',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    channels: keyed(categories, (category) => ({
      address: `${topicPrefix}${TOPICS[category]}`,
      description: CHANNELS[category],
      messages: keyed(typesOf(category), (type) => ({ $ref: `#/components/messages/${type}` })),
    })),
    operations: keyed(categories, (category) => ({
      action: 'send',
      channel: { $ref: `#/channels/${category}` },
      summary: 'Each event, once it is committed.',
      messages: typesOf(category).map((type) => ({ $ref: `#/channels/${category}/messages/${type}` })),
    })),
    components: {
      messages: keyed(types, (type) => ({
        name: type,
        summary: EVENT_SCHEMAS[type].summary,
        contentType: 'application/json',
        headers: { $ref: '#/components/schemas/headers' },
        payload: { $ref: `#/components/schemas/${type}` },
        bindings: { kafka: { key: { type: 'string', description: 'The stream.' } } },
      })),
      schemas: { headers: HEADERS, ...keyed(types, (type) => EVENT_SCHEMAS[type].data) },
    },
  };
}

function keyed<Name extends string, Value>(
  names: readonly Name[],
  value: (name: Name) => Value,
): Record<string, Value> {
  return Object.fromEntries(names.map((name) => [name, value(name)]));
}
