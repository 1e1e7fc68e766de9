import { randomBytes } from 'node:crypto';
import { UserError } from '../../kernel/errors.js';
import { redactUrl } from '../../kernel/redact-url.js';
import { DEFINITION } from '../../platforms/defined/compile.js';
import { canonicalSettings, checkCustomField } from '../../platforms/event-mapping.js';
import { oneOf } from '../../platforms/fields.js';
import type { Connection, Field, Platform } from '../../platforms/platform.js';

const VALUE_LENGTH_MAX = 4_096;
const EVENT_LENGTH_MAX = 100;
/** Control characters, mainly line breaks: values are sent in headers. */
const FORBIDDEN = /[\p{Cc}\p{Cs}]/u;

export function newConnection({ initialSettings = {} }: Platform, endpoint?: string): Connection {
  return { settings: initialSettings, secrets: {}, endpoint };
}

export interface ConnectRequest {
  /** Settings and secrets by name. An empty value removes one. */
  readonly set: Readonly<Record<string, string>>;
  /** An empty one restores the platform's own addresses. */
  readonly endpoint?: string | undefined;
  /** Which endpoint gave the tokens in `set`: they are not for another one, such as a sandbox or a gateway. */
  readonly tokensFrom?: { readonly endpoint: string | undefined } | undefined;
}

export interface ChangedConnection extends Connection {
  /** The webhook's secret, if it was generated here. It must be shown to the operator. */
  readonly generatedSecret?: string;
}

/** The connection after a request that names only the changes. Throws if the result is invalid. */
export function changedConnection(
  platform: Platform,
  current: Connection,
  request: ConnectRequest,
  newSecret: string,
): ChangedConnection {
  const settings: Record<string, string> = { ...current.settings };
  if (platform.definition === undefined) delete settings[DEFINITION];
  else settings[DEFINITION] = platform.definition;
  const secrets: Record<string, string> = { ...current.secrets };
  for (const [name, text] of Object.entries(canonicalSettings(request.set))) {
    const field = findField(platform, name);
    const values = field.secret ? secrets : settings;
    const value = text.trim();
    if (value === '') delete values[name];
    else values[name] = validate(field, value);
    if (field.address) encryptAddress(name, settings, secrets);
  }
  for (const { name, about } of platform.fields)
    if (about !== undefined && request.set[about] !== undefined && request.set[name] === undefined)
      delete settings[name];
  const isGenerated = platform.name === 'webhook' && secrets['secret'] === undefined;
  if (isGenerated) secrets['secret'] = newSecret;
  const endpoint = endpointAfter(current, request);
  const next = { settings, secrets, ...(endpoint !== undefined && { endpoint }) };
  requireFields(platform, next);
  const problem = platform.check?.(next);
  if (problem !== undefined) throw new UserError(`${platform.name}: ${problem}`);
  return isGenerated ? { ...next, generatedSecret: newSecret } : next;
}

/** Events contain settings, so an address that may contain a secret is redacted there. */
function encryptAddress(name: string, settings: Record<string, string>, secrets: Record<string, string>): void {
  const address = settings[name];
  delete secrets[name];
  if (address === undefined || redactUrl(address) === address) return;
  settings[name] = redactUrl(address);
  secrets[name] = address;
}

/** In the format of Standard Webhooks. */
export function generateWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** A field of the platform, or one that every platform has. */
function findField(platform: Platform, name: string): Field {
  const own = platform.fields.find((field) => field.name === name);
  if (own) return own;
  if (name === 'events') return { name, help: 'events to send', check: checkEvents };
  if (name === 'default_consent')
    return { name, help: 'consent where none is known', check: oneOf('granted', 'denied') };
  const [, kind, rest = ''] = /^(event|field)\.(.+)$/su.exec(name) ?? [];
  if (kind === 'event') return { name, help: `name of ${rest} on the platform`, check: () => checkEvent(rest) };
  if (kind === 'field')
    return { name, help: 'where its value comes from', check: (value) => checkCustomField(rest, value) };
  const names = [
    ...platform.fields.map((field) => field.name),
    'events',
    'default_consent',
    'event.<ours>',
    'field.<theirs>',
  ];
  throw new UserError(`${platform.name} has no setting "${name}". Available: ${names.join(', ')}.`);
}

function validate(field: Field, value: string): string {
  const problem =
    value.length > VALUE_LENGTH_MAX
      ? `is longer than ${VALUE_LENGTH_MAX} characters`
      : FORBIDDEN.test(field.name + value)
        ? 'must not contain line breaks or other control characters'
        : field.check?.(value);
  if (problem !== undefined) throw new UserError(`--set ${field.name.replace(FORBIDDEN, '?')}: ${problem}`);
  return value;
}

function checkEvents(value: string): string | undefined {
  const problems = value.split(',').map((event) => checkEvent(event.trim()));
  return problems.find((problem) => problem !== undefined);
}

function checkEvent(event: string): string | undefined {
  const { length } = [...event];
  if (length >= 1 && length <= EVENT_LENGTH_MAX) return undefined;
  return `an event name has 1 to ${EVENT_LENGTH_MAX} characters; separate several with commas, such as purchase,lead`;
}

function requireFields({ name, fields, definition }: Platform, { settings, secrets }: Connection): void {
  const missing = fields.filter((field) => {
    return field.required && (field.secret ? secrets : settings)[field.name] === undefined;
  });
  if (missing.length === 0) return;
  const list = missing.map((field) => `${field.name} (${field.help.replace(/\.$/, '')})`).join(', ');
  throw new UserError(
    `${name} requires ${list}. Set it with --set <name>=<value>.${definition === undefined ? ` docs/platforms/${name}.md describes where to find it.` : ''}`,
  );
}

function endpointAfter(current: Connection, { endpoint, tokensFrom }: ConnectRequest): string | undefined {
  if (tokensFrom && tokensFrom.endpoint !== current.endpoint)
    throw new UserError('The endpoint of the connection was changed since the sign-in. Sign in again.');
  return endpoint === undefined ? current.endpoint : parseEndpoint(endpoint);
}

export function parseEndpoint(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isUsable =
    url && ['http:', 'https:'].includes(url.protocol) && url.username + url.password === '' && !/[?#]/.test(url.href);
  if (!isUsable) {
    // The message does not repeat the text, because it may contain a password.
    throw new UserError(
      '--endpoint: give a URL such as https://gateway.example/capi, without user, password, query or fragment.',
    );
  }
  return url.href.replace(/\/$/, '');
}
