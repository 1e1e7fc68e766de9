import { keepPartitionsAhead } from '../../src/log/retention/partitions.js';
import type { Postgres } from '../../src/postgres/postgres.js';

/** Replaces the partitions of an empty log by small ones, so that a test can fill several. */
export async function createSmallPartitions(postgres: Postgres, events: number, count = 1): Promise<void> {
  const owner = await postgres.connectAsOwner('test');
  try {
    await owner.query(
      `DO $$ DECLARE first bigint; BEGIN
        FOR first IN DELETE FROM cc.log_partitions p RETURNING p.first LOOP
          EXECUTE format('DROP TABLE cc.events_%1$s, cc.personal_%1$s', first);
        END LOOP;
      END $$`,
    );
    for (let added = 0; added < count; added += 1)
      await owner.query('SELECT cc.add_partition($1, $2)', [added * events, (added + 1) * events]);
  } finally {
    await owner.end();
  }
  await keepPartitionsAhead(postgres, events);
}
