import { randomBytes } from 'node:crypto';
import { UserError } from '../kernel/errors.js';
import { FIELD_SOURCES } from '../platforms/event-mapping.js';
import type { Connection, Field, Platform } from '../platforms/platform.js';

const VALUE_LENGTH_MAX = 4_096;
const EVENT_LENGTH_MAX = 100;
/** Line breaks above all: values end up in headers. */
const UNUSABLE = /[\p{Cc}\p{Cs}]/u;

export const NOT_CONNECTED: Connection = { settings: {}, secrets: {} };

export interface ConnectRequest {
  /** By name, secrets too. An empty value takes a setting away. */
  readonly set: Readonly<Record<string, string>>;
  /** An empty one goes back to the platform's own addresses. */
  readonly endpoint?: string | undefined;
}

export interface ChangedConnection extends Connection {
  /** The webhook's, when it was made here: nobody else knows it yet. */
  readonly madeSecret?: string;
}

/** The whole connection after a request that names only what changes; throws when it could not work. */
export function changedConnection(
  platform: Platform,
  current: Connection,
  request: ConnectRequest,
  spareSecret: string,
): ChangedConnection {
  const settings: Record<string, string> = { ...current.settings };
  const secrets: Record<string, string> = { ...current.secrets };
  for (const [name, text] of Object.entries(request.set)) {
    const field = findField(platform, name);
    const values = field.secret ? secrets : settings;
    const value = text.trim();
    if (value === '') delete values[name];
    else values[name] = checked(field, value);
  }
  const isMade = platform.name === 'webhook' && secrets['secret'] === undefined;
  if (isMade) secrets['secret'] = spareSecret;
  const endpoint = request.endpoint === undefined ? current.endpoint : readEndpoint(request.endpoint);
  const next = { settings, secrets, ...(endpoint !== undefined && { endpoint }) };
  demandRequired(platform, next);
  const said = platform.check?.(next);
  if (said !== undefined) throw new UserError(`${platform.name}: ${said}`);
  return isMade ? { ...next, madeSecret: spareSecret } : next;
}

/** As Standard Webhooks spells one. */
export function generateWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** The platform's own, or one of those that every platform has. */
function findField(platform: Platform, name: string): Field {
  const own = platform.fields.find((field) => field.name === name);
  if (own) return own;
  if (name === 'events') return { name, help: 'the events that are sent', check: checkEvents };
  const [, kind, rest = ''] = /^(event|field)\.(.+)$/su.exec(name) ?? [];
  if (kind === 'event') return { name, help: `the platform's name of ${rest}`, check: () => checkEvent(rest) };
  if (kind === 'field') return { name, help: 'what fills it', check: checkSource };
  const known = [...platform.fields.map((field) => field.name), 'events', 'event.<ours>', 'field.<theirs>'];
  throw new UserError(`${platform.name} has no setting "${name}". There are: ${known.join(', ')}.`);
}

function checked(field: Field, value: string): string {
  const said =
    value.length > VALUE_LENGTH_MAX
      ? `is longer than ${VALUE_LENGTH_MAX} characters`
      : UNUSABLE.test(field.name + value)
        ? 'must not contain line breaks or other control characters'
        : field.check?.(value);
  if (said !== undefined) throw new UserError(`--set ${field.name.replace(UNUSABLE, '?')}: ${said}`);
  return value;
}

function checkEvents(value: string): string | undefined {
  const wrong = value.split(',').map((event) => checkEvent(event.trim()));
  return wrong.find((said) => said !== undefined);
}

function checkEvent(event: string): string | undefined {
  const { length } = [...event];
  if (length >= 1 && length <= EVENT_LENGTH_MAX) return undefined;
  return `an event's name has 1 to ${EVENT_LENGTH_MAX} characters; several are written purchase,lead`;
}

function checkSource(value: string): string | undefined {
  if ((FIELD_SOURCES as readonly string[]).includes(value)) return undefined;
  return `must be one of ${FIELD_SOURCES.join(', ')}`;
}

function demandRequired({ name, fields }: Platform, { settings, secrets }: Connection): void {
  const missing = fields.filter((field) => {
    return field.required && (field.secret ? secrets : settings)[field.name] === undefined;
  });
  if (missing.length === 0) return;
  const list = missing.map((field) => `${field.name} (${field.help.replace(/\.$/, '')})`).join(', ');
  throw new UserError(`${name} lacks ${list}. Give it with --set <name>=<value>.`);
}

function readEndpoint(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isUsable =
    url && ['http:', 'https:'].includes(url.protocol) && url.username + url.password === '' && !/[?#]/.test(url.href);
  if (!isUsable) {
    // Not repeated: there may be a password in it.
    throw new UserError(
      '--endpoint: give an address such as https://gateway.example/capi, without user, password, query or fragment.',
    );
  }
  return url.href.replace(/\/$/, '');
}
