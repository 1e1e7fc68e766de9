import { redactUrl, withRedactedParts } from '../../kernel/redact-url.js';
import { curlLine } from '../../platforms/curl-line.js';
import { versionOf } from '../../platforms/defined/compile.js';
import { type Placeholder, Placeholders } from '../../platforms/placeholders.js';
import type { Connection, Platform, PlatformRequest } from '../../platforms/platform.js';
import { redactRequest } from '../../platforms/redact-request.js';
import type { SiteConnection } from '../../sites/connections/connection.js';
import { connectionTo } from '../connections/account.js';
import { type DeliveryPayload, deliveryRequest } from './payload.js';

/** A request to a platform with `$NAME` in place of each secret. */
export interface RedactedRequest extends PlatformRequest {
  /** User and password, which are sent as an `authorization` header. */
  readonly basic?: string;
  /** For a shell whose variables are the placeholders. */
  readonly curl: string;
}

export interface RedactedDelivery {
  readonly requests: readonly RedactedRequest[];
  readonly placeholders: readonly Placeholder[];
}

/** The stored parts of a connection that requests are built from. */
type StoredConnection = Pick<SiteConnection, 'settings' | 'secretNames' | 'endpoint'>;

export interface RequestedRequests {
  readonly platform: Platform;
  readonly payload: DeliveryPayload;
  readonly connection: StoredConnection;
  /** Only the form of secrets matters: whether one is a pair of user and password. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly nowMs: number;
  readonly traceparent?: string | undefined;
}

/** The requests that deliver a payload if no other conversion shares them. Built without the secrets of the connection. */
export function redactedDelivery(wanted: RequestedRequests): RedactedDelivery {
  const [marks, otherMarks] = [new Placeholders(), new Placeholders()];
  const again = requestsWith(otherMarks, wanted);
  const marked = requestsWith(marks, wanted).map((request, index) =>
    redactRequest(request, marks, again[index] as PlatformRequest, otherMarks),
  );
  const texts = marked.flatMap(({ url, headers, body = '', basic = '' }) => [
    url,
    basic,
    ...Object.values(headers),
    body,
  ]);
  return {
    requests: marked.map((request) => ({
      method: request.method,
      url: marks.shown(request.url),
      headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, marks.shown(value)])),
      ...(request.basic !== undefined && { basic: marks.shown(request.basic) }),
      ...(request.body !== undefined && { body: marks.shown(request.body) }),
      curl: curlLine(request, marks),
    })),
    placeholders: marks.in(texts),
  };
}

/** As the queue of the connection makes them: items of one conversion share requests where the platform accepts batches. */
function requestsWith(marks: Placeholders, wanted: RequestedRequests): PlatformRequest[] {
  const { platform, payload, nowMs, traceparent } = wanted;
  const connection = connectionTo(platform, markedConnection(marks, wanted), payload.account);
  const accessToken = platform.token?.(connection)
    ? marks.mark('ACCESS_TOKEN', 'An access token, which the service obtains with refresh_token.')
    : undefined;
  const bodies = payload.parts?.map(({ body }) => body) ?? [payload.body];
  const requests: PlatformRequest[] = [];
  const { batchMax } = versionOf(platform, payload.account.settings);
  for (let from = 0; from < bodies.length; from += batchMax) {
    const call = { connection, group: payload.group, accessToken, nowMs, traceparent };
    requests.push(deliveryRequest(platform, bodies.slice(from, from + batchMax), call));
  }
  return requests;
}

/** The connection with marks in place of its secrets, also of those in addresses. */
function markedConnection(
  marks: Placeholders,
  { platform, connection: { settings, secretNames, endpoint }, secrets }: RequestedRequests,
): Connection {
  const isAddress = (name: string) => platform.fields.some((field) => field.name === name && field.address);
  const addressOf = (redacted: string, name: string) =>
    withRedactedParts(redacted, (number) =>
      marks.mark(`${name.toUpperCase()}_${number}`, `Part ${number} of the ${name} that may be a token.`),
    );
  const markOf = (name: string) =>
    isAddress(name)
      ? addressOf(settings[name] ?? '', name)
      : marks.mark(name.toUpperCase(), `${name} of the connection.`, secrets[name]?.includes(':'));
  return {
    settings,
    secrets: Object.fromEntries(secretNames.map((name) => [name, markOf(name)])),
    endpoint: endpoint === undefined ? undefined : addressOf(redactUrl(endpoint), 'endpoint'),
  };
}
