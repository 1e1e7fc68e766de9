// Instances are frozen for longer than any lease while senders wait for their answers, thawed, and killed 0.1 to 3 s later:
// they acknowledge what waited in their sockets, and die before they have sent it.
import { setTimeout as sleep } from 'node:timers/promises';
import { Testbed } from './harness/testbed.mjs';

const RATE = 120;
const WAITING_PER_ROUND = 12;
const ANSWERED_WITHIN_MS = 60_000;
/** Longer than the lease of an instance (before 0.3), and longer than a delivery lease. */
const FREEZES_MS = [16_000, 45_000, 65_000];
/** Instances that are frozen at the same time; one more always runs. */
const VICTIMS = 4;

export const switches = ['scan'];

export async function drill({ short, rounds = short ? 2 : 200, seed, log }) {
  const victims = Math.min(VICTIMS, rounds);
  const testbed = await Testbed.open({ seed, instances: victims + 1 });
  try {
    const random = testbed.random();
    const load = testbed.load();
    load.start(RATE);
    await sleep(1_000);
    let answered = 0;
    for (let done = 0; done < rounds; done += victims) {
      const batch = testbed.instances.slice(1, 1 + Math.min(victims, rounds - done));
      const ends = await Promise.all(
        batch.map(async (victim, index) => {
          const freezeMs = short ? FREEZES_MS[0] : FREEZES_MS[Math.floor(random() * FREEZES_MS.length)];
          const killAfterMs = 100 + random() * 2_900;
          // Every second one at its first acknowledgement: on a busy machine a thawed process may not get to one in 3 s.
          const from = index % 2 === 0 ? 'acknowledgement' : 'thaw';
          return freezeAndKill(testbed, load, victim, { freezeMs, killAfterMs, from });
        }),
      );
      answered += ends.reduce((sum, end) => sum + end, 0);
      log(
        `${done + batch.length} of ${rounds} instances frozen and killed, ${answered} requests acknowledged after a thaw`,
      );
    }
    return [
      { what: 'requests acknowledged between thaw and kill', result: answered, ok: answered > 0 },
      ...(await testbed.finish()),
    ];
  } finally {
    await testbed.close();
  }
}

/** Returns how many of the waiting requests were acknowledged by the thawed instance. */
async function freezeAndKill(testbed, load, victim, { freezeMs, killAfterMs, from }) {
  victim.freeze();
  testbed.faults.freezes += 1;
  // Not repeated: the only answer is the one of the thawed instance.
  const waiting = Array.from({ length: WAITING_PER_ROUND }, () => {
    return load.post(victim.port, 1, freezeMs + ANSWERED_WITHIN_MS, 'none');
  });
  await sleep(freezeMs);
  victim.thaw();
  if (from === 'thaw') await sleep(killAfterMs);
  else await Promise.race(waiting);
  await victim.kill();
  testbed.faults.kills += 1;
  const ends = (await Promise.all(waiting)).flat();
  await victim.start();
  return ends.filter(({ end }) => end === 'acknowledged').length;
}
