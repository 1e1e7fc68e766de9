// Instances are frozen for longer than any lease while senders wait for their answers, thawed, and killed 0.1 to 3 s later:
// they acknowledge what waited in their sockets, and die before they have sent it.
import { setTimeout as sleep } from 'node:timers/promises';
import { World } from './harness/world.mjs';

const RATE = 40;
const WAITING_PER_ROUND = 12;
/** Longer than the lease of an instance (before 0.3), and longer than a delivery lease. */
const FREEZES_MS = [16_000, 45_000, 65_000];
/** Instances that are frozen at the same time; one more always runs. */
const VICTIMS = 4;

export const switches = ['scan'];

export async function drill({ short, rounds = short ? 2 : 200, seed, log }) {
  const victims = Math.min(VICTIMS, rounds);
  const world = await World.open({ seed, instances: victims + 1 });
  try {
    const random = world.random();
    const load = world.load();
    load.start(RATE);
    await sleep(1_000);
    let answered = 0;
    for (let done = 0; done < rounds; done += victims) {
      const batch = world.instances.slice(1, 1 + Math.min(victims, rounds - done));
      const ends = await Promise.all(
        batch.map(async (victim) => {
          const freezeMs = short ? FREEZES_MS[0] : FREEZES_MS[Math.floor(random() * FREEZES_MS.length)];
          const killAfterMs = 100 + random() * 2_900;
          return freezeAndKill(world, load, victim, freezeMs, killAfterMs);
        }),
      );
      answered += ends.reduce((sum, end) => sum + end, 0);
      log(
        `${done + batch.length} of ${rounds} instances frozen and killed, ${answered} requests acknowledged after a thaw`,
      );
    }
    return [
      { what: 'requests acknowledged between thaw and kill', result: answered, ok: answered > 0 },
      ...(await world.finish()),
    ];
  } finally {
    await world.close();
  }
}

/** Returns how many of the waiting requests were acknowledged by the thawed instance. */
async function freezeAndKill(world, load, victim, freezeMs, killAfterMs) {
  victim.freeze();
  world.faults.freezes += 1;
  let answered = 0;
  // Not repeated: the only answer is the one of the thawed instance.
  const waiting = load.post(victim.port, WAITING_PER_ROUND, freezeMs + 60_000, 'none').then((ends) => {
    answered = ends.filter(({ end }) => end === 'acknowledged').length;
  });
  await sleep(freezeMs);
  victim.thaw();
  await sleep(killAfterMs);
  await victim.kill();
  world.faults.kills += 1;
  await waiting;
  await victim.start();
  return answered;
}
