import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { PublicEvent } from '../log/event-reader.js';
import { shardOf } from '../log/shard.js';
import { Ends, makeBatch } from './batch.js';
import { fromMessage, toMessage } from './cloud-event.js';
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
  data,
});
const positionsOf = (messages: readonly { headers?: object }[]) =>
  messages.map(({ headers }) => Number((headers as Record<string, string>)['cc_position']));

describe('makeBatch', () => {
  it('puts every event that a partition lacks into its partition, once and in order', () => {
    const pages = fc.uniqueArray(
      fc.tuple(fc.integer({ min: 1, max: 500 }), fc.constantFrom('conversion', 'site', 'inner')),
      {
        selector: ([position]) => position,
      },
    );
    fc.assert(
      fc.property(pages, fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 5, maxLength: 5 }), (page, held) => {
        const events = page.sort(([a], [b]) => a - b).map(([position, category]) => event(position, category));
        const ends = new Ends(PARTITIONS);
        for (const partition of [0, 1, 2]) ends.set('conversion', partition, held[partition] as number);
        for (const partition of [0, 1]) ends.set('site', partition, held[3 + partition] as number);
        const { groups, until } = makeBatch(events, 0, ends, 'local');
        expect(until).toBe(events.at(-1)?.position ?? 0);
        const due = events.filter(({ category, stream, position }) => {
          const partitions = PARTITIONS.get(category);
          return partitions !== undefined && position > ends.get(category, shardOf(stream, partitions));
        });
        const sent = groups.flatMap(({ messages }) => positionsOf(messages));
        expect(sent.sort((a, b) => a - b)).toEqual(due.map(({ position }) => position));
        for (const { category, partition, messages, until } of groups) {
          const positions = positionsOf(messages);
          expect(positions).toEqual([...positions].sort((a, b) => a - b));
          expect(positions.at(-1)).toBe(until);
          for (const { key } of messages)
            expect(shardOf(String(key), PARTITIONS.get(category) as number)).toBe(partition);
        }
      }),
    );
  });

  it('ends before the event that a request would no longer hold, and goes on with it', () => {
    const large = `"${'x'.repeat(300_000)}"`;
    const events = [1, 18, 35, 52].map((position) => event(position, 'conversion', large));
    const ends = new Ends(PARTITIONS);
    const first = makeBatch(events, 0, ends, 'local');
    expect([first.until, first.groups[0]?.messages.length]).toEqual([18, 2]);
    expect(makeBatch(events.slice(2), 18, ends, 'local').until).toBe(52);
  });
});

describe('an event on a topic', () => {
  it('comes back as it was, without who did it and whom it concerned', () => {
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

  it('has a topic, whatever type the code knows', () => {
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
