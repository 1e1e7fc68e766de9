import type { StoredEvent } from './event.js';
import type { ReadOptions } from './event-reader.js';
import { Follower, type FollowerSource } from './follower.js';

const event = (position: number, id: string) => ({ position, id }) as StoredEvent;

describe('a follower of a log that is replaced by an earlier state of it', () => {
  let log: StoredEvent[];
  let applied: StoredEvent[];
  let follower: Follower;
  /** Called before each step of a poll. */
  let arrive: (step: 'head' | 'isLost' | 'read') => void;

  const source: FollowerSource = {
    head: async () => {
      arrive('head');
      return log.at(-1)?.position ?? 0;
    },
    isLost: async ({ position, id }) => {
      arrive('isLost');
      return log.find((each) => each.position === position)?.id !== id;
    },
    read: (async ({ after = 0, until = 0 }: ReadOptions = {}) => {
      arrive('read');
      return log.filter(({ position }) => position > after && position <= until);
    }) as FollowerSource['read'],
  };

  beforeEach(async () => {
    arrive = () => {};
    log = [event(1, 'a'), event(2, 'b'), event(3, 'lost'), event(4, 'lost too')];
    applied = [];
    const onLost = async () => {
      applied = [...log];
      return applied.at(-1);
    };
    follower = new Follower(
      source,
      { name: 'test', after: 0, onLost },
      (events) => void applied.push(...events),
      () => {},
    );
    await follower.start({ on: () => () => {} });
  });

  it.each(['head', 'isLost', 'read'] as const)(
    'reads what is appended at reused positions (before its %s)',
    async (at) => {
      log = [...log, event(5, 'lost as well')];
      let hasHappened = false;
      arrive = (step) => {
        if (step !== at || hasHappened) return;
        hasHappened = true;
        log = [event(1, 'a'), event(2, 'b')];
      };
      await follower.poll();
      log = [...log, event(3, 'new')];
      await follower.poll();
      log = [...log, event(4, 'newer'), event(5, 'newest'), event(6, 'last')];
      await follower.poll();
      expect(applied.map(({ id }) => id)).toEqual(['a', 'b', 'new', 'newer', 'newest', 'last']);
    },
  );
});
