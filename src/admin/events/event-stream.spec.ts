import type { Principal } from '../../users/access.js';
import { EventStream, streamedEvent } from './event-stream.js';

const PRINCIPAL: Principal = { actor: 'user:1', userId: '1', permissions: ['read'], sites: ['one.example'] };
const CREDENTIAL = { kind: 'session', text: 'x' } as const;

function event(position: number, site = 'one.example', type = 'conversion.received.v1', text = '') {
  const common = {
    id: 'id',
    stream: 'conversion-1',
    version: 1,
    time: '',
    actor: 'tag',
    personal: { ip: '192.0.2.1' },
  };
  return streamedEvent({ ...common, position, site, type, data: { text } } as never);
}

function open(selection = {}): EventStream {
  return new EventStream(PRINCIPAL, CREDENTIAL, selection);
}

function received(stream: EventStream): string {
  return String(stream.read() ?? '');
}

describe('event stream', () => {
  it('sends events of the sites of the reader, once, without personal data', () => {
    const stream = open();
    stream.send([event(1), event(2, 'other.example'), event(3, '')], 3);
    stream.send([event(1), event(4)], 4);
    const text = received(stream);
    expect(text.match(/^id: \d+$/gm)).toEqual(['id: 1', 'id: 4']);
    expect(text).not.toContain('192.0.2.1');
    expect(stream.position).toBe(4);
  });

  it('selects by site and type', () => {
    const stream = open({ site: 'one.example', types: ['site.registered.v1'] });
    stream.send([event(1), event(2, 'one.example', 'site.registered.v1'), event(3, 'x', 'site.registered.v1')], 3);
    expect(received(stream).match(/^id: \d+$/gm)).toEqual(['id: 2']);
  });

  it('is closed when its reader does not keep up, with a bounded buffer', async () => {
    const stream = open();
    const closed = new Promise((resolve) => stream.once('close', resolve));
    let sent = 0;
    for (let position = 1; !stream.destroyed && position < 1_000; position += 1) {
      stream.send([event(position, 'one.example', 'conversion.received.v1', 'x'.repeat(10_000))], position);
      sent = position;
    }
    await closed;
    expect(sent).toBeLessThan(120);
  });

  it('ends when its site is removed, also if the reader wants other types', async () => {
    const stream = open({ site: 'one.example', types: ['conversion.received.v1'] });
    const ended = new Promise((resolve) => stream.once('end', resolve));
    stream.resume();
    stream.send([event(1, 'one.example', 'site.removed.v1')], 1);
    await ended;
  });

  it('waits for a reader of earlier events', async () => {
    const stream = open();
    stream.send([event(1, 'one.example', 'conversion.received.v1', 'x'.repeat(500_000))], 1);
    let isDrained = false;
    const drained = stream.drained().then(() => {
      isDrained = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isDrained).toBe(false);
    stream.resume();
    await drained;
  });
});
