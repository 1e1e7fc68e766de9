import { randomUUID } from 'node:crypto';
import { uuidv7 } from '../../kernel/uuid.js';
import type { AppendRequest } from '../event.js';

/** Each event as JSON, without the first brace. */
export function serialise(request: AppendRequest, ids: readonly string[]): string[] {
  const { expected, claim, asOf } = request;
  return request.events.map(({ type, reference, data, personal, inline }, index) => {
    const { subject, person, ...others } = personal ?? {};
    // One call, because each has a fixed cost. Default values are omitted: every byte is parsed several times.
    return JSON.stringify({
      k: index === 0 ? undefined : index + 1,
      id: ids[index],
      category: request.category,
      stream: request.stream,
      expected: expected === 'any' ? -1 : typeof expected === 'number' ? expected : undefined,
      base: typeof expected === 'object' ? expected.owned : undefined,
      type,
      site: request.site,
      actor: request.actor,
      reference,
      key: claim?.key,
      span: claim && claim.windowMs / 1_000,
      weak: claim?.weak || undefined,
      since: asOf?.position,
      found: asOf?.found || undefined,
      about: asOf?.others,
      data,
      inline,
      subject: subject ?? person,
      personal: personal && others,
      salt: personal && randomUUID(),
    }).slice(1);
  });
}

/** The rows of a batch, each with its index. */
export function asBatch(rows: readonly string[]): string {
  return `[${rows.map((row, index) => `{"n":${index + 1},${row}`).join(',')}]`;
}

/** The events of one request as a batch of their own. */
export function toBatch(request: AppendRequest, ids: readonly string[] = request.events.map(uuidv7)): string {
  return asBatch(serialise(request, ids));
}
