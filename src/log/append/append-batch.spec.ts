import type { AppendRequest, NewEvent } from '../event.js';
import { serialise, toBatch } from './append-batch.js';

const SUBJECT = 'ab'.repeat(32);
const request: AppendRequest = {
  category: 'conversion',
  stream: '01900000-0000-7000-8000-000000000001',
  expected: 'new',
  site: 'a.example',
  actor: 'tag',
  events: [{ type: 'thing.made.v1', data: { one: 1, none: undefined } }],
};

function rowsOf(...events: [NewEvent, ...NewEvent[]]) {
  const ids = events.map((_, index) => `id-${index}`);
  return serialise({ ...request, events }, ids).map((row) => JSON.parse(`{${row}`));
}

describe('an event for the append', () => {
  it('has what it needs and no default values', () => {
    const { expected: _, events: __, ...common } = request;
    expect(rowsOf(request.events[0])).toEqual([{ ...common, id: 'id-0', type: 'thing.made.v1', data: { one: 1 } }]);
  });

  it.each([
    ['first', { subject: SUBJECT, visit: { kind: 'gclid' } }],
    ['last', { visit: { kind: 'gclid' }, subject: SUBJECT }],
  ])('has its subject beside the personal part, also if that comes %s', (_, personal) => {
    const [row] = rowsOf({ type: 'thing.made.v1', data: {}, personal });
    expect(row).toMatchObject({ subject: SUBJECT, personal: { visit: { kind: 'gclid' } } });
    expect(row.personal).not.toHaveProperty('subject');
    expect(row.salt).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('may have a subject and nothing else, something else and no subject, or neither', () => {
    const type = 'thing.made.v1';
    const [alone, other, empty, none] = rowsOf(
      { type, data: {}, personal: { subject: 'a"b\\' } },
      { type, data: {}, personal: { visit: 1 } as object },
      { type, data: {}, personal: {} },
      { type, data: {} },
    );
    expect(alone).toMatchObject({ subject: 'a"b\\', personal: {} });
    expect(other).toMatchObject({ personal: { visit: 1 } });
    expect(other).not.toHaveProperty('subject');
    expect(empty).toMatchObject({ personal: {} });
    expect(none).not.toHaveProperty('personal');
    expect(none).not.toHaveProperty('salt');
  });

  it('has its index in the batch and in the request', () => {
    const batch = JSON.parse(toBatch({ ...request, events: [request.events[0], request.events[0]] }));
    expect(batch).toMatchObject([{ n: 1 }, { n: 2, k: 2 }]);
    expect(batch[0]).not.toHaveProperty('k');
  });
});
