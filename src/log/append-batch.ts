import { randomUUID } from 'node:crypto';
import { uuidv7 } from '../kernel/uuid.js';
import type { AppendRequest, NewEvent } from './event.js';

/** Each event as JSON, without the first brace. What all events of the request have in common is written once. */
export function serialise(request: AppendRequest, ids: readonly string[]): string[] {
  const { expected, claim, asOf } = request;
  // Default values are omitted: every byte is parsed several times.
  const common = JSON.stringify({
    expected: expected === 'any' ? -1 : typeof expected === 'number' ? expected : undefined,
    base: typeof expected === 'object' ? expected.owned : undefined,
    at: typeof expected === 'object' ? expected.position : undefined,
    category: request.category,
    stream: request.stream,
    site: request.site,
    actor: request.actor,
    key: claim?.key,
    span: claim && claim.windowMs / 1_000,
    weak: claim?.weak || undefined,
    since: asOf?.position,
    found: asOf?.found || undefined,
  }).slice(1, -1);
  return request.events.map(({ type, reference, data, personal, inline }, index) => {
    const own = JSON.stringify({
      k: index === 0 ? undefined : index + 1,
      id: ids[index],
      type,
      reference,
      data,
      inline,
    });
    return `${common},${own.slice(1, -1)}${personal ? serialisePersonal(personal) : ''}}`;
  });
}

/** The subject beside the other fields. */
function serialisePersonal(personal: NonNullable<NewEvent['personal']>): string {
  const { subject } = personal;
  const salt = `,"salt":"${randomUUID()}"`;
  const all = JSON.stringify(personal);
  if (subject === undefined) return `,"personal":${all}${salt}`;
  const first = `"subject":${JSON.stringify(subject)}`;
  if (all.startsWith(first, 1)) {
    const others = all.slice(1 + first.length);
    return `,${first},"personal":{${others.startsWith(',') ? others.slice(1) : others}${salt}`;
  }
  const { subject: _, ...others } = personal;
  return `,${first},"personal":${JSON.stringify(others)}${salt}`;
}

/** The rows of a batch, each with its index. */
export function asBatch(rows: readonly string[]): string {
  return `[${rows.map((row, index) => `{"n":${index + 1},${row}`).join(',')}]`;
}

/** The events of one request as a batch of their own. */
export function toBatch(request: AppendRequest, ids: readonly string[] = request.events.map(uuidv7)): string {
  return asBatch(serialise(request, ids));
}
