import type { Pool } from 'pg';
import type { HoldSource } from '../log/retention-holds.js';
import { LOG_HOLD } from './relay-checkpoint.js';

/** Events that the relay has not published. Only with Kafka configured: `holdLog` creates and deletes the row. */
export function kafkaHolds(pool: Pool): HoldSource {
  return async () => {
    const { rows } = await pool.query<{ position: string }>(
      'SELECT position FROM cc.log_holds WHERE name = $1 AND session = 0',
      [LOG_HOLD],
    );
    return rows.map(({ position }) => ({
      holder: 'the Kafka relay',
      position: Number(position),
      fix: 'Fix what the check "kafka" reports. If Kafka is gone for good, unset KAFKA_BROKERS and restart the service.',
    }));
  };
}
