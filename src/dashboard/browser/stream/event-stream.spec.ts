import { jest } from '@jest/globals';
import { followEvents } from './event-stream.js';
import { StreamMessages } from './stream-messages.js';

/** A service that keeps each connection until the test sends something or ends it. */
class FakeService {
  readonly urls: string[] = [];
  readonly signals: AbortSignal[] = [];
  private stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  status = 200;

  readonly open = async (url: string, signal: AbortSignal): Promise<Response> => {
    this.urls.push(url);
    this.signals.push(signal);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.stream = controller;
        signal.addEventListener('abort', () => {
          if (this.stream === controller) controller.error(signal.reason);
        });
      },
    });
    return new Response(body, { status: this.status });
  };

  async send(text: string): Promise<void> {
    this.stream?.enqueue(new TextEncoder().encode(text));
    await settled();
  }

  async end(): Promise<void> {
    this.stream?.close();
    this.stream = undefined;
    await settled();
  }
}

const settled = () => jest.advanceTimersByTimeAsync(0);
const open: (() => void)[] = [];

function follow(service: FakeService, after = 5, types?: readonly string[]) {
  const seen = { states: [] as string[], events: [] as string[], failed: 0, skipped: 0 };
  const stop = followEvents(
    { site: 'shop.example', types },
    after,
    {
      onState: (state) => seen.states.at(-1) !== state && seen.states.push(state),
      onEvents: (events) => seen.events.push(...events),
      onSkipped: () => {
        seen.skipped += 1;
      },
      onFailed: () => {
        seen.failed += 1;
      },
    },
    service.open,
  );
  open.push(stop);
  return { ...seen, seen, stop };
}

describe('the event stream in the browser', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    for (const stop of open.splice(0)) stop();
    jest.useRealTimers();
  });

  it('connects again at the position reached, also by signs of life without an event', async () => {
    const service = new FakeService();
    const { seen } = follow(service);
    await settled();
    await service.send('retry: 2000\nid: 5\n\nid: 7\ndata: {"a":1}\n\nid: 40\n\n');
    await service.end();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(seen.events).toEqual(['{"a":1}']);
    expect(service.urls.map((url) => url.split('after=')[1])).toEqual(['5', '40']);
    expect(seen.states).toEqual(['open', 'lost']);
  });

  it('asks only for the types that are shown', async () => {
    const service = new FakeService();
    follow(service, 5, ['auth.failed.v1', 'auth.throttled.v1']);
    await settled();
    expect(service.urls).toEqual([
      '/api/v1/events?site=shop.example&type=auth.failed.v1&type=auth.throttled.v1&missed=1000&after=5',
    ]);
  });

  it('leaves a connection on which nothing arrives', async () => {
    const service = new FakeService();
    const { seen } = follow(service);
    await jest.advanceTimersByTimeAsync(1_900);
    expect([service.urls.length, seen.states]).toEqual([1, []]);
    await jest.advanceTimersByTimeAsync(1_200);
    expect([service.urls.length, service.signals[0]?.aborted]).toEqual([2, true]);
  });

  it('waits longer after each failure', async () => {
    const service = new FakeService();
    service.status = 429;
    const { seen } = follow(service);
    await jest.advanceTimersByTimeAsync(300_000);
    expect(service.urls.length).toBeGreaterThan(8);
    expect(service.urls.length).toBeLessThan(30);
    expect(seen.failed).toBe(service.urls.length);
  });

  it('closes its connection when it is stopped, and opens no other', async () => {
    const service = new FakeService();
    const { seen, stop } = follow(service);
    await settled();
    stop();
    await jest.advanceTimersByTimeAsync(300_000);
    expect([service.urls.length, service.signals[0]?.aborted, seen.failed]).toEqual([1, true, 0]);
  });

  it('says that events were skipped', async () => {
    const service = new FakeService();
    const { seen } = follow(service);
    await settled();
    await service.send('event: skipped\nid: 90\ndata: {"after":5,"until":90}\n\n');
    expect([seen.skipped, seen.events]).toEqual([1, []]);
  });

  it('goes on where a database ends that was replaced by its backup', async () => {
    const service = new FakeService();
    const { seen } = follow(service, 90);
    await settled();
    await service.send('id: 3\n\nevent: skipped\nid: 3\ndata: {"after":90,"until":3}\n\nid: 4\ndata: {"a":1}\n\n');
    await service.end();
    await jest.advanceTimersByTimeAsync(1_000);
    expect([seen.events, service.urls.at(-1)?.split('after=')[1]]).toEqual([['{"a":1}'], '4']);
  });

  it('says that too many streams are open, until one more is accepted', async () => {
    const service = new FakeService();
    service.status = 429;
    const { states } = follow(service);
    await settled();
    expect(states).toEqual(['full']);
    service.status = 200;
    await jest.advanceTimersByTimeAsync(1_000);
    await service.send('id: 6\n\n');
    expect(states).toEqual(['full', 'open']);
  });
});

describe('messages of a stream', () => {
  it('are read from pieces of any length', () => {
    const text = 'id: 1\ndata: {"a":"b: c"}\n\nid: 2\n\nid: 3\ndata: {}\n\n';
    const whole = new StreamMessages().read(text);
    const messages = new StreamMessages();
    expect([...text].flatMap((character) => messages.read(character))).toEqual(whole);
    expect(whole.map(({ id, data }) => [id, data])).toEqual([
      [1, '{"a":"b: c"}'],
      [2, undefined],
      [3, '{}'],
    ]);
  });
});
