import type { AdminMessage } from './admin-process.js';
import { appliedChanges, type ServiceChannel } from './applied-changes.js';

describe('appliedChanges', () => {
  let sent: AdminMessage[];
  let answer: (message: AdminMessage) => void;
  let channel: ServiceChannel & { connected: boolean };

  beforeEach(() => {
    sent = [];
    channel = {
      connected: true,
      send: (message) => void sent.push(message),
      on: (_, listener) => {
        answer = listener;
      },
    };
  });
  const isPending = (wait: Promise<void>) =>
    Promise.race([wait.then(() => false), new Promise<true>((resolve) => setTimeout(() => resolve(true), 20))]);

  it('waits for the answer to its own message', async () => {
    const applied = appliedChanges(channel, 60_000);
    const [first, second] = [applied(), applied()];
    expect(sent).toEqual([
      { kind: 'changed', id: 1 },
      { kind: 'changed', id: 2 },
    ]);
    answer({ kind: 'changed', id: 2 });
    await second;
    expect(await isPending(first)).toBe(true);
    answer({ kind: 'changed', id: 1 });
    await first;
  });

  it('waits no longer than a service without an answer may use what it knows', async () => {
    await appliedChanges(channel, 10)();
    channel.connected = false;
    await appliedChanges(channel, 10)();
    expect(sent).toHaveLength(1);
  });
});
