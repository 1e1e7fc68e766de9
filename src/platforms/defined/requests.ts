import { createHmac } from 'node:crypto';
import {
  type Call,
  type Connection,
  endpointUrl,
  type PlatformRequest,
  type Settings,
  type TokenRequest,
} from '../platform.js';
import type { Definition } from './definition-schema.js';
import { compileTemplate, type Render, type Report } from './template.js';

const PLACEHOLDER = /\{([^{}]*)\}/g;
/** A host that a setting is a part of. */
const HOST_PART = /^[a-z0-9.-]+$/i;
const HEADER_TEXT = /^[\x20-\x7e]*$/;
/** Set by what sends the request, or by the definition's authentication. */
const OWN_HEADERS = new Set(['host', 'content-length', 'transfer-encoding', 'connection', 'authorization', 'cookie']);

export interface CompiledRequests {
  baseUrl(settings: Settings): string;
  request(items: readonly string[], call: Call): PlatformRequest;
  token: ((connection: Connection) => TokenRequest | undefined) | undefined;
  check(connection: Connection): string | undefined;
}

/** How payloads become a request. */
export function compileRequests(definition: Definition, report: Report): CompiledRequests {
  const { url, method, headers, authentication, batch, settings } = definition;
  const plain = Object.keys(settings).filter((name) => !settings[name]?.secret);
  const hostPlaceholders = checkUrl(url, report);
  checkPlaceholders(url, ['url'], plain, report);
  for (const [name, value] of Object.entries(headers)) {
    if (isOwnHeader(name)) report(['headers', name], 'is set by the service');
    if (!HEADER_TEXT.test(value)) report(['headers', name], 'must be printable ASCII');
    checkPlaceholders(value, ['headers', name], plain, report);
  }
  checkAuthentication(definition, report);
  const envelope = compileEnvelope(definition, plain, report);
  const filledIn = (text: string, values: Settings, encode = (value: string) => value) =>
    text.replace(PLACEHOLDER, (_, name: string) => encode(values[name] ?? ''));
  const urlOf = (values: Settings) => new URL(filledIn(url, values, encodeURIComponent));

  return {
    baseUrl: (values) => urlOf(values).origin,
    request: (items, call) => {
      const { connection, nowMs } = call;
      const address = urlOf(connection.settings);
      if (authentication?.type === 'query')
        address.searchParams.set(authentication.parameter, connection.secrets[authentication.secret] ?? '');
      const body = batch ? envelope(items, connection.settings) : (items[0] ?? '');
      const own = Object.entries(headers).map(([name, value]) => [
        name.toLowerCase(),
        filledIn(value, connection.settings),
      ]);
      return {
        method,
        url: endpointUrl(connection, address.origin, address.pathname + address.search),
        headers: {
          'content-type': 'application/json',
          ...Object.fromEntries(own),
          ...credentials(authentication, { ...connection, accessToken: call.accessToken, nowMs, body }),
        },
        body,
      };
    },
    token:
      authentication?.type === 'oauth_client_credentials'
        ? (connection) => tokenRequest(authentication, connection)
        : undefined,
    check: ({ settings: values }) => {
      for (const name of hostPlaceholders) {
        const value = values[name] ?? '';
        if (!HOST_PART.test(value)) return `${name} must be a part of a host name: letters, digits, dots and hyphens`;
      }
      const problem = Object.entries(values).find(([name, value]) => plain.includes(name) && !HEADER_TEXT.test(value));
      if (problem) return `${problem[0]} must be printable ASCII`;
      return URL.canParse(filledIn(url, values, encodeURIComponent)) ? undefined : 'the settings make no valid address';
    },
  };
}

/** The settings in the host. */
function checkUrl(url: string, report: Report): readonly string[] {
  const [, host = ''] = /^https:\/\/([^/?#]+)/.exec(url) ?? [];
  const example = url.replace(PLACEHOLDER, 'x');
  const parsed = URL.canParse(example) ? new URL(example) : undefined;
  if (host === '' || !parsed) report(['url'], 'must be an address that starts with https://');
  else if (host.includes('@')) report(['url'], 'must not contain user and password: use authentication');
  else if (parsed.hash !== '') report(['url'], 'must not have a fragment');
  return [...host.matchAll(PLACEHOLDER)].map(([, name]) => name as string);
}

function checkPlaceholders(text: string, path: readonly string[], plain: readonly string[], report: Report): void {
  for (const [, name = ''] of text.matchAll(PLACEHOLDER))
    if (!plain.includes(name)) report(path, `{${name}} is no setting of the definition that is not secret`);
}

function isOwnHeader(name: string): boolean {
  return OWN_HEADERS.has(name.toLowerCase());
}

function checkAuthentication({ authentication, settings }: Definition, report: Report): void {
  if (!authentication) return;
  const named = (field: string, name: string, secret: boolean | undefined) => {
    const setting = settings[name];
    if (!setting) report(['authentication', field], `${name} is no setting of the definition`);
    else if (secret !== undefined && (setting.secret === true) !== secret)
      report(['authentication', field], `${name} must ${secret ? '' : 'not '}be a secret setting`);
    else if (!setting.required) report(['authentication', field], `${name} must be a required setting`);
  };
  for (const [field, header] of Object.entries(authentication))
    if (field.endsWith('header') && isOwnHeader(String(header)) && !/^authorization$/i.test(String(header)))
      report(['authentication', field], `${header} is set by the service`);
  if ('secret' in authentication) named('secret', authentication.secret, true);
  if (authentication.type === 'basic') {
    named('user', authentication.user, undefined);
    if (authentication.password !== undefined) named('password', authentication.password, true);
  }
  if (authentication.type === 'oauth_client_credentials') {
    named('client_id', authentication.client_id, false);
    named('client_secret', authentication.client_secret, true);
  }
}

/** The body of a batch. The payloads are put in as they are, byte for byte. */
function compileEnvelope({ batch }: Definition, plain: readonly string[], report: Report) {
  if (batch?.body === undefined) return (items: readonly string[]) => `[${items.join()}]`;
  const mark = '\ue000batch\ue000';
  const context = {
    report,
    check: ([name = '', part = '']: readonly string[]) => {
      if (name === 'batch' || (name === 'settings' && plain.includes(part))) return undefined;
      return 'reads /batch, the list of the conversions, and /settings/<name>';
    },
    checkElement: () => undefined,
  };
  const render: Render = compileTemplate(batch.body, ['batch', 'body'], context);
  const isIn = JSON.stringify(render({ batch: mark, settings: {} }) ?? null).split(JSON.stringify(mark)).length === 2;
  if (!isIn) report(['batch', 'body'], 'must contain /batch once');
  return (items: readonly string[], settings: Settings) => {
    const text = JSON.stringify(render({ batch: mark, settings }));
    // A function: the payloads may contain `$&`.
    return text.replace(JSON.stringify(mark), () => `[${items.join()}]`);
  };
}

interface Signed extends Connection {
  readonly accessToken: string | undefined;
  readonly nowMs: number;
  readonly body: string;
}

function credentials(
  authentication: Definition['authentication'],
  { secrets, settings, accessToken, nowMs, body }: Signed,
): Record<string, string> {
  const value = (name: string) => secrets[name] ?? settings[name] ?? '';
  switch (authentication?.type) {
    case 'bearer':
      return { authorization: `Bearer ${value(authentication.secret)}` };
    case 'oauth_client_credentials':
      return { authorization: `Bearer ${accessToken ?? ''}` };
    case 'basic': {
      const { user, password } = authentication;
      const pair = `${value(user)}:${password === undefined ? '' : value(password)}`;
      return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
    }
    case 'header':
      return { [authentication.header.toLowerCase()]: `${authentication.prefix ?? ''}${value(authentication.secret)}` };
    case 'hmac': {
      const { header, hash, encoding, prefix = '', timestamp_header: timestampHeader, secret } = authentication;
      const timestamp = String(Math.floor(nowMs / 1_000));
      const signed = timestampHeader === undefined ? body : `${timestamp}.${body}`;
      const signature = createHmac(hash, value(secret)).update(signed).digest(encoding);
      return {
        [header.toLowerCase()]: prefix + signature,
        ...(timestampHeader !== undefined && { [timestampHeader.toLowerCase()]: timestamp }),
      };
    }
    default:
      return {};
  }
}

function tokenRequest(
  authentication: Extract<Definition['authentication'], { type: 'oauth_client_credentials' }>,
  connection: Connection,
): TokenRequest | undefined {
  const { token_url: tokenUrl, scope } = authentication;
  const clientId = connection.settings[authentication.client_id];
  const clientSecret = connection.secrets[authentication.client_secret];
  if (clientId === undefined || clientSecret === undefined) return undefined;
  const { origin, pathname, search } = new URL(tokenUrl);
  return {
    url: endpointUrl(connection, origin, pathname + search),
    form: {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      ...(scope !== undefined && { scope }),
    },
  };
}
