import { EVENT_SCHEMAS, type EventType } from '../events/index.js';
import { jsonSchemaOf, schemaUri } from '../events/json-schema.js';
import { UNPUBLISHED } from '../events/unpublished-fields.js';
import { CHECKPOINT_TYPE, checkpointTopic, topicOf } from '../kafka/topics.js';

/** By category, which is the first part of the event type. */
const CHANNELS: Readonly<Record<string, string>> = {
  conversion: 'Conversions and the outcomes of their deliveries.',
  visitor: 'Visits, identified visitors, consent and bot verdicts.',
  site: 'Sites, their keys, settings and platform connections.',
  auth: 'Failed authentication attempts.',
  inbound: 'Counts of conversions that were refused.',
  outbound: 'Pushes of totals to webhooks.',
  user: 'Users of the management API and their tokens, without names and email addresses.',
  log: 'The log itself: steps of its clock, and keys that sign its checkpoints.',
};

const DESCRIPTION = `The events of the log on Kafka. Each event is published after its commit, in log order,
without personal data.

The key of a record is the event's stream, so all events of one conversion or site are in one partition, in the order in
which they occurred. The value is the event's \`data\`. Its other attributes are headers (CloudEvents 1.0, binary mode).

**Deduplication.** Within a partition \`cc_position\` increases. After a producer crash, the next producer may write the
last records again. For each partition, store the last \`cc_position\` that you have processed together with its result,
and drop every record whose \`cc_position\` is not above it. Then each event counts once.`;

const HEADERS = {
  type: 'object',
  required: [
    'ce_specversion',
    'ce_id',
    'ce_type',
    'ce_source',
    'ce_subject',
    'ce_time',
    'ce_dataschema',
    'ce_sequence',
    'ce_version',
    'ce_actor',
    'content-type',
    'cc_position',
    'cc_site',
    'cc_version',
  ],
  properties: {
    ce_specversion: { type: 'string', const: '1.0' },
    ce_id: { type: 'string', format: 'uuid', description: 'The id of the event.' },
    ce_type: {
      type: 'string',
      description: 'For example conversion.received.v1. A changed schema has a new version number.',
    },
    ce_source: { type: 'string', description: '/clean-conversions/<cell>' },
    ce_subject: { type: 'string', description: 'The stream, <category>-<id>. Also the key of the record.' },
    ce_time: { type: 'string', format: 'date-time', description: 'Time of the append, by the database clock.' },
    ce_dataschema: {
      type: 'string',
      format: 'uri',
      description: 'The $id of the schema of the value in this document.',
    },
    ce_sequence: { type: 'string', pattern: '^[0-9]+$', description: 'As cc_position. Compare it as a number.' },
    ce_site: { type: 'string', description: 'As cc_site; absent for events of no site.' },
    ce_version: { type: 'string', pattern: '^[0-9]+$', description: 'As cc_version.' },
    ce_actor: { type: 'string', description: 'Who caused it: key:<id>, tag, cli, user:<id>, token:<id> or system.' },
    'content-type': { type: 'string', const: 'application/json' },
    cc_position: {
      type: 'string',
      pattern: '^[0-9]+$',
      description: 'Position in the log. Increases within a partition.',
    },
    cc_site: { type: 'string', description: 'Host of the site; empty for events of no site.' },
    cc_version: { type: 'string', pattern: '^[0-9]+$', description: 'Version within the stream, starting at 1.' },
  },
} as const;

const CHECKPOINT = {
  name: CHECKPOINT_TYPE,
  summary: 'A signed statement that the hash chain of the log had a certain head at a position.',
  contentType: 'application/jose',
  headers: {
    type: 'object',
    required: ['ce_specversion', 'ce_id', 'ce_type', 'ce_source', 'ce_time', 'ce_sequence', 'content-type'],
    properties: {
      ce_specversion: HEADERS.properties.ce_specversion,
      ce_id: { type: 'string', format: 'uuid', description: 'The same for a checkpoint that is published again.' },
      ce_type: { type: 'string', const: CHECKPOINT_TYPE },
      ce_source: HEADERS.properties.ce_source,
      ce_time: { type: 'string', format: 'date-time', description: 'When it was signed, by the database clock.' },
      ce_sequence: { type: 'string', pattern: '^[0-9]+$', description: 'Position of the last event that it covers.' },
      'content-type': { type: 'string', const: 'application/jose' },
    },
  },
  payload: { type: 'string', description: 'A compact JWS (RFC 7515), signed with Ed25519.' },
  bindings: { kafka: { key: { type: 'string', description: 'The cell.' } } },
} as const;

/** AsyncAPI 3 description of the topics, generated from the event schemas. */
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
    channels: {
      ...keyed(categories, (category) => ({
        address: topicOf(topicPrefix, category),
        description: CHANNELS[category],
        messages: keyed(typesOf(category), (type) => ({ $ref: `#/components/messages/${type}` })),
      })),
      checkpoints: {
        address: checkpointTopic(topicPrefix),
        description: 'Signed checkpoints of the log: no events of it, and without the headers that begin with cc_.',
        messages: keyed([CHECKPOINT_TYPE], (type) => ({ $ref: `#/components/messages/${type}` })),
      },
    },
    operations: {
      ...keyed(categories, (category) => ({
        action: 'send',
        channel: { $ref: `#/channels/${category}` },
        summary: 'Publishes each event after it is committed.',
        messages: typesOf(category).map((type) => ({ $ref: `#/channels/${category}/messages/${type}` })),
      })),
      checkpoints: {
        action: 'send',
        channel: { $ref: '#/channels/checkpoints' },
        summary: 'Publishes each checkpoint after it is signed, at least once.',
        messages: [{ $ref: `#/channels/checkpoints/messages/${CHECKPOINT_TYPE}` }],
      },
    },
    components: {
      messages: {
        ...keyed(types, (type) => ({
          name: type,
          summary: EVENT_SCHEMAS[type].summary,
          contentType: 'application/json',
          headers: { $ref: '#/components/schemas/headers' },
          payload: { $ref: `#/components/schemas/${type}` },
          bindings: { kafka: { key: { type: 'string', description: 'The stream.' } } },
        })),
        [CHECKPOINT_TYPE]: CHECKPOINT,
      },
      schemas: { headers: HEADERS, ...keyed(types, publishedSchema) },
    },
  };
}

/** The schema of the value on a topic, which lacks the fields that are not published. */
function publishedSchema(type: EventType): object {
  const data = { $id: schemaUri(type), ...jsonSchemaOf(type) };
  const hidden = (UNPUBLISHED[type] ?? []).flatMap(({ within, field, form }) => ((within ?? form) ? [] : [field]));
  if (hidden.length === 0) return data;
  const isPublished = (name: string) => !hidden.includes(name);
  return {
    ...data,
    properties: Object.fromEntries(Object.entries(data.properties ?? {}).filter(([name]) => isPublished(name))),
    required: (data.required ?? []).filter(isPublished),
  };
}

function keyed<Name extends string, Value>(
  names: readonly Name[],
  value: (name: Name) => Value,
): Record<string, Value> {
  return Object.fromEntries(names.map((name) => [name, value(name)]));
}
