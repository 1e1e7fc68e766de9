import { InMemoryLog } from '../../../test/support/in-memory-log.js';
import { uuidv7 } from '../../kernel/uuid.js';
import type { EventLog } from '../../log/event-log.js';
import type { Principal } from '../../users/access.js';
import type { Credential, Credentials } from '../access/credentials.js';
import type { EventStream } from './event-stream.js';
import { EventStreams } from './event-streams.js';

const principal = { userId: 'ada', permissions: ['read'], sites: 'all' } as unknown as Principal;
const credential = { text: 'session' } as unknown as Credential;

/** A database that can be restored from a backup. */
class RestoredLog extends InMemoryLog {
  log = new InMemoryLog();
  override head = () => this.log.head();
  override read: InMemoryLog['read'] = (options) => this.log.read(options);
  override append: InMemoryLog['append'] = (request) => this.log.append(request);
  override follow: InMemoryLog['follow'] = (options, apply) => this.log.follow(options, apply);
  override close = () => this.log.close();

  async add(count: number): Promise<void> {
    const event = { type: 'inbound.rejected.v1', data: {} };
    const of = { category: 'inbound', expected: 'new', site: 'shop.example', actor: 'system' } as const;
    for (let added = 0; added < count; added += 1) await this.log.append({ ...of, stream: uuidv7(), events: [event] });
  }
}

const openStreams = (log: EventLog) => new EventStreams(log, { find: async () => principal } as unknown as Credentials);
/** The positions of the events in what was sent. */
const positionsIn = (text: string) => [...text.matchAll(/id: (\d+)\ndata: (?=\{"p)/g)].map(([, id]) => Number(id));

describe('event streams', () => {
  it('end when the database was restored, and then continue with the events of the restored one', async () => {
    const log = new RestoredLog();
    const streams = openStreams(log);
    const open = (after?: number) => streams.open({ principal, credential, selection: {}, after });
    await log.add(10);
    const before = await open();
    expect(before.position).toBe(10);
    const ended = textOf(before);
    const { log: replaced } = log;
    log.log = new InMemoryLog();
    await log.add(3);
    expect(await ended).toContain('id: 10');
    await replaced.close();

    const after = await open(10);
    expect(after.position).toBe(3);
    const received = textOf(after, 'id: 4\n');
    await log.add(1);
    expect(await received).toMatch(/id: 3\n.*id: 4\ndata: /s);
    expect(await received).toContain('event: skipped\nid: 3\ndata: {"after":10,"until":3}');
    await log.close();
  });

  it('continue after a failover, at which positions leap', async () => {
    const log = new InMemoryLog();
    const streams = openStreams(log);
    const append = () =>
      log.append({
        ...{ category: 'inbound', expected: 'new', site: 'shop.example', actor: 'system' },
        ...{ stream: uuidv7(), events: [{ type: 'inbound.rejected.v1', data: {} }] },
      });
    await append();
    await append();
    log.skipPositions(1_000_000_000);
    await append();
    const stream = await streams.open({ principal, credential, selection: {}, after: 1 });
    const text = await textOf(stream, `id: ${await log.head()}\n`);
    expect(text).toContain('id: 2\ndata: ');
    expect(text).not.toContain('event: skipped');
    streams.onModuleDestroy();
    await log.close();
  });

  it('skip all but the newest missed events if the reader asks for that', async () => {
    const log = new RestoredLog();
    const streams = openStreams(log);
    const positionsAfter = async (after: number, missedMax?: number) => {
      const selection = { site: 'shop.example' };
      const text = await textOf(
        await streams.open({ principal, credential, selection, after, missedMax }),
        'id: 10\nd',
      );
      return positionsIn(text);
    };
    await log.add(10);
    expect(await positionsAfter(4)).toEqual([5, 6, 7, 8, 9, 10]);
    expect(await positionsAfter(4, 2)).toEqual([9, 10]);
    expect(await positionsAfter(4, 6)).toEqual([5, 6, 7, 8, 9, 10]);
    const skipping = await streams.open({ principal, credential, selection: {}, after: 4, missedMax: 0 });
    expect(await textOf(skipping, 'skipped')).toContain('event: skipped\nid: 10\ndata: {"after":4,"until":10}');
    await log.close();
  });

  it('count only events that the reader sees as missed', async () => {
    const log = new RestoredLog();
    const streams = openStreams(log);
    await log.add(3);
    const of = { category: 'user', expected: 'new', site: '', actor: 'system' } as const;
    for (let added = 0; added < 150; added += 1)
      await log.append({ ...of, stream: uuidv7(), events: [{ type: 'user.signed_in.v1', data: {} }] });
    const stream = await streams.open({ principal, credential, selection: {}, after: 0, missedMax: 2 });
    const text = await textOf(stream, 'id: 153\n');
    expect(positionsIn(text)).toEqual([2, 3]);
    await log.close();
  });
});

/** What is sent until the stream ends, or until a text was sent. */
async function textOf(stream: EventStream, until?: string): Promise<string> {
  let text = '';
  for await (const part of stream) {
    text += String(part);
    if (until !== undefined && text.includes(until)) break;
  }
  return text;
}
