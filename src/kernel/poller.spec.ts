import { setImmediate as turn } from 'node:timers/promises';
import { Poller } from './poller.js';

describe('Poller', () => {
  it('has one run at a time, and runs again after one that failed', async () => {
    let runs = 0;
    let end = () => {};
    const poller = new Poller(() => {
      runs += 1;
      return new Promise((resolve, reject) => {
        end = () => (runs === 1 ? reject(new Error('unavailable')) : resolve());
      });
    });
    poller.poll();
    poller.poll();
    expect(runs).toBe(1);
    end();
    await poller.settled();
    poller.poll();
    expect(runs).toBe(2);
    end();
    await poller.settled();
  });

  it('waits for the run in progress when it is stopped, and begins no other', async () => {
    let end = () => {};
    let runs = 0;
    const poller = new Poller(() => {
      runs += 1;
      return new Promise((resolve) => {
        end = resolve;
      });
    });
    poller.poll();
    let hasStopped = false;
    const stopping = poller.stop().then(() => {
      hasStopped = true;
    });
    await turn();
    expect([poller.isStopping, hasStopped]).toEqual([true, false]);
    end();
    await stopping;
    poller.poll();
    expect(runs).toBe(1);
  });
});
