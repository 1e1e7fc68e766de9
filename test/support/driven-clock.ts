import type { Postgres } from '../../src/postgres/postgres.js';
import { openDatabase } from './databases.js';

/** Sets the clock of a database, and of the connections to it, ahead. */
export interface DrivenClock {
  nowMs(): number;
  /** Connections that were opened through this class follow the clock, too. */
  follow(postgres: Postgres): void;
  advance(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** The functions of the log ask the driven clock from now on. */
export async function driveClock(databaseUrl: string): Promise<DrivenClock> {
  const first = await openDatabase(databaseUrl);
  const owner = await first.connectAsOwner('test');
  await owner.query(`
    CREATE SCHEMA driven;
    CREATE TABLE driven.clock AS SELECT 0::float8 AS ahead;
    CREATE FUNCTION driven.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
      $$ SELECT pg_catalog.clock_timestamp() + make_interval(secs => (SELECT ahead FROM driven.clock) / 1000) $$;
    GRANT USAGE ON SCHEMA driven TO PUBLIC;
    GRANT SELECT ON driven.clock TO PUBLIC;
    DO $$ DECLARE definition text; BEGIN
      FOR definition IN SELECT replace(pg_get_functiondef(oid), 'clock_timestamp()', 'driven.clock_timestamp()') FROM pg_proc
                         WHERE pronamespace = 'cc'::regnamespace AND prosrc LIKE '%clock_timestamp()%' LOOP
        EXECUTE definition;
      END LOOP;
    END $$;
  `);
  await first.close();
  let aheadMs = 0;
  const nowMs = () => Date.now() + aheadMs;
  return {
    nowMs,
    follow({ clock }) {
      const driven = {
        nowMs,
        at: (monotonicMs: number) => Math.floor(nowMs() - performance.now() + monotonicMs),
        ...{ differenceMs: () => 0, refusal: () => undefined, problem: () => undefined, observe: () => {} },
      };
      Object.assign(clock, driven);
    },
    async advance(ms) {
      await owner.query('UPDATE driven.clock SET ahead = ahead + $1', [ms]);
      aheadMs += ms;
    },
    close: () => owner.end(),
  };
}
