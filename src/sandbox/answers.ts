import { hash } from 'node:crypto';
import type { ReceivedItem, SandboxAnswer, SandboxRequest } from './double.js';
import type { CheckedItem } from './field-checks.js';
import { isText, type JsonObject, objectOf } from './values.js';

const TOKEN = /^[\x21-\x7e]+$/;
const JSON_TYPE = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(;|$)/i;

export function isJsonContentType(request: SandboxRequest): boolean {
  return JSON_TYPE.test(request.headers['content-type'] ?? '');
}

export function isFormContentType(request: SandboxRequest): boolean {
  return FORM_TYPE.test(request.headers['content-type'] ?? '');
}

/** The token of an `authorization: Bearer` header. */
export function bearerToken(request: SandboxRequest): string | undefined {
  const header = request.headers['authorization'];
  return header?.startsWith('Bearer ') === true ? header.slice('Bearer '.length) : undefined;
}

export type Credential = 'good' | 'missing' | 'bad' | 'forbidden';

/** Every token is good unless it contains `bad` or `forbidden`. */
export function credentialOf(token: string | undefined | null): Credential {
  if (token === undefined || token === null || token === '') return 'missing';
  if (token.includes('bad') || !TOKEN.test(token)) return 'bad';
  return token.includes('forbidden') ? 'forbidden' : 'good';
}

/** The failure that a token leads to; undefined when it is good. */
export function credentialFailure(token: string | undefined | null): 'unauthorized' | 'forbidden' | undefined {
  const credential = credentialOf(token);
  if (credential === 'good') return undefined;
  return credential === 'forbidden' ? 'forbidden' : 'unauthorized';
}

export function jsonAnswer(status: number, body: unknown, received?: readonly ReceivedItem[]): SandboxAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(received === undefined ? {} : { received }),
  };
}

export function withHeaders(answer: SandboxAnswer, headers: Readonly<Record<string, string>>): SandboxAnswer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

/** The ledger's record of one conversion. `item` is the conversion without the envelope of the request. */
export function receivedItem(
  item: unknown,
  about: {
    readonly eventId: unknown;
    readonly event: unknown;
    readonly problems?: readonly string[];
    readonly accepted: boolean;
    readonly dedupKey?: string | undefined;
  },
): ReceivedItem {
  return {
    eventId: typeof about.eventId === 'string' ? about.eventId : '',
    event: typeof about.event === 'string' ? about.event : '',
    problems: about.problems ?? [],
    accepted: about.accepted,
    bodySha256: hash('sha256', JSON.stringify(item) ?? ''),
    ...(about.dedupKey === undefined ? {} : { dedupKey: about.dedupKey }),
  };
}

export interface ItemIdentity {
  readonly eventId: unknown;
  readonly event: unknown;
  /** What the platform deduplicates by besides the event id, such as the event name; undefined: the event id alone. */
  readonly dedupBy?: readonly unknown[];
}

/** Records the items of a batch. */
export function receivedItems(
  items: readonly CheckedItem[],
  identify: (item: JsonObject) => ItemIdentity,
  isAccepted: (item: CheckedItem, index: number) => boolean,
): readonly ReceivedItem[] {
  return items.map((checked, index) => {
    const { eventId, event, dedupBy } = identify(objectOf(checked.item));
    return receivedItem(checked.item, {
      eventId,
      event,
      problems: [...checked.problems, ...checked.warnings],
      accepted: isAccepted(checked, index),
      dedupKey: dedupBy && isText(eventId) ? [...dedupBy, eventId].map(String).join(' ') : undefined,
    });
  });
}
