import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { PublicEvent } from '../log/event-reader.js';
import { shardOf } from '../log/projections/shard.js';
import { makeBatch, PublishedPositions } from './batch.js';
import { fromMessage, isHeaderOf, publishedData, toMessage } from './cloud-event.js';
import { TOPIC_OF_CATEGORY } from './topics.js';

const PARTITIONS = new Map([
  ['conversion', 3],
  ['site', 2],
]);
const event = (position: number, category = 'conversion', data = '{}'): PublicEvent => ({
  position,
  id: `id-${position}`,
  category,
  stream: `${category}-${position % 17}`,
  version: 1,
  type: `${category}.happened.v1`,
  site: 'shop.example',
  time: '2026-01-01T00:00:00.000Z',
  actor: 'system',
  data,
});
const positionsOf = (messages: readonly { headers?: object }[]) =>
  messages.map(({ headers }) => Number((headers as Record<string, string>)['cc_position']));

describe('makeBatch', () => {
  it('adds each missing event to its partition, once and in order', () => {
    const pages = fc.uniqueArray(
      fc.tuple(fc.integer({ min: 1, max: 500 }), fc.constantFrom('conversion', 'site', 'inner')),
      {
        selector: ([position]) => position,
      },
    );
    const positions = fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 5, maxLength: 5 });
    fc.assert(
      fc.property(pages, positions, (page, lastPositions) => {
        const events = page.sort(([a], [b]) => a - b).map(([position, category]) => event(position, category));
        const published = new PublishedPositions(PARTITIONS);
        for (const partition of [0, 1, 2]) published.set('conversion', partition, lastPositions[partition] as number);
        for (const partition of [0, 1]) published.set('site', partition, lastPositions[3 + partition] as number);
        const { partitionBatches, until } = makeBatch(events, 0, published, 'local');
        expect(until).toBe(events.at(-1)?.position ?? 0);
        const expected = events.filter(({ category, stream, position }) => {
          const partitions = PARTITIONS.get(category);
          return partitions !== undefined && position > published.get(category, shardOf(stream, partitions));
        });
        const sent = partitionBatches.flatMap(({ messages }) => positionsOf(messages));
        expect(sent.sort((a, b) => a - b)).toEqual(expected.map(({ position }) => position));
        for (const { category, partition, messages, until } of partitionBatches) {
          const positions = positionsOf(messages);
          expect(positions).toEqual([...positions].sort((a, b) => a - b));
          expect(positions.at(-1)).toBe(until);
          for (const { key } of messages)
            expect(shardOf(String(key), PARTITIONS.get(category) as number)).toBe(partition);
        }
      }),
    );
  });

  it('ends before the event that exceeds the request size limit and continues with it in the next batch', () => {
    const large = `"${'x'.repeat(300_000)}"`;
    const events = [1, 18, 35, 52].map((position) => event(position, 'conversion', large));
    const published = new PublishedPositions(PARTITIONS);
    const first = makeBatch(events, 0, published, 'local');
    expect([first.until, first.partitionBatches[0]?.messages.length]).toEqual([18, 2]);
    expect(makeBatch(events.slice(2), 18, published, 'local').until).toBe(52);
  });
});

describe('an event on a topic', () => {
  it('lacks the hash of an API key, which stays in the database', () => {
    const issued = {
      ...event(7, 'site'),
      type: 'site.key_issued.v1',
      data: '{"keyId": "k", "hash": "ab", "trial": false}',
    };
    expect(JSON.parse(toMessage(issued, 'local', 0).value as string)).toEqual({ keyId: 'k', trial: false });
    // A record of an earlier version is the same event.
    expect(publishedData(issued.type, issued.data)).toBe(toMessage(issued, 'local', 0).value);
  });

  it('does not name users of the operating system', () => {
    expect(toMessage({ ...event(7), actor: 'cli:ada' }, 'local', 0).headers).toMatchObject({ ce_actor: 'cli' });
    expect(toMessage({ ...event(7), actor: 'user:0198' }, 'local', 0).headers).toMatchObject({ ce_actor: 'user:0198' });
    const sample = (by: string) => JSON.stringify({ count: 1, sample: [{ reason: 'email', by }] });
    const rejected = { ...event(7, 'inbound', sample('cli:ada')), type: 'inbound.rejected.v1' };
    expect(toMessage(rejected, 'local', 0).value).toBe(sample('cli'));
    // A record of an earlier version is the same event.
    expect(publishedData(rejected.type, sample('cli:ada'))).toBe(sample('cli'));
    expect(publishedData(rejected.type, sample('key:0198'))).toBe(sample('key:0198'));
  });

  it('has no site if it belongs to none', () => {
    expect(toMessage({ ...event(7), site: '' }, 'local', 0).headers).not.toHaveProperty('ce_site');
  });

  it('is expected to have the extensions of CloudEvents only if its version wrote them', () => {
    const { headers = {} } = toMessage(event(7), 'local', 0);
    const { ce_sequence, ce_site, ce_version, ce_actor, ce_dataschema, ...earlier } = headers;
    expect(isHeaderOf({ headers: earlier }, 'ce_actor')).toBe(false);
    expect(isHeaderOf({ headers: earlier }, 'cc_site')).toBe(true);
    expect(Object.keys(headers).every((name) => isHeaderOf({ headers }, name))).toBe(true);
    // One that was removed is missed.
    for (const extensions of [{ ce_sequence }, { ce_site }, { ce_version }, { ce_actor }, { ce_dataschema }])
      expect(isHeaderOf({ headers: { ...earlier, ...extensions } }, 'ce_actor')).toBe(true);
  });

  it('round-trips without actor and personal data', () => {
    const sent = toMessage({ ...event(7), data: '{"value":129.9,"text":"ä"}' }, 'local', 0);
    expect(fromMessage({ ...sent, key: null, value: Buffer.from(sent.value as string) } as never)).toEqual({
      position: 7,
      id: 'id-7',
      type: 'conversion.happened.v1',
      stream: 'conversion-7',
      version: 1,
      site: 'shop.example',
      time: '2026-01-01T00:00:00.000Z',
      actor: '',
      data: { value: 129.9, text: 'ä' },
      personal: null,
    });
  });

  it('has a topic, whatever its type', () => {
    const src = join(process.cwd(), 'src');
    const files = readdirSync(src, { recursive: true }).map(String);
    const code = files
      .filter((file) => /(?<!\.spec)\.ts$/.test(file))
      .map((file) => readFileSync(join(src, file), 'utf8'));
    const categories = code.flatMap((text) =>
      [...text.matchAll(/'(\w+)\.\w+\.v\d+'/g)].map(([, category]) => category as string),
    );
    expect(categories.length).toBeGreaterThan(0);
    expect(categories.filter((category) => !(category in TOPIC_OF_CATEGORY))).toEqual([]);
  });
});
