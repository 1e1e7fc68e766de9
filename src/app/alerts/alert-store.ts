import type { ClientBase } from 'pg';
import { derivedUuid, uuidv7 } from '../../kernel/uuid.js';
import type { Postgres } from '../../postgres/postgres.js';
import { transaction } from '../../postgres/transaction.js';
import type { AttentionItem } from '../attention/attention-item.js';
import type { AlertChange, OpenAlert } from './alert-state.js';
import { type AlertChannel, isToldOf } from './channel.js';
import type { AlertMessage } from './message.js';

/** How long an alert that has ended is kept. */
const KEPT_DAYS = 30;

/** A message that waits to be sent. */
export interface DueMessage extends AlertMessage {
  readonly channel: string;
  readonly attempts: number;
  readonly createdMs: number;
}

interface AlertRow {
  readonly id: string;
  readonly key: string;
  readonly item: AttentionItem;
  readonly seen: Date;
  readonly started: Date | null;
  readonly missing: Date | null;
}

/**
 * Alerts and their messages. Each change applies only to the state that it was decided on, and a message has one id per alert, channel
 * and type: a process that was frozen, or two at once, add none twice.
 */
export class AlertStore {
  constructor(private readonly database: Pick<Postgres, 'pool'>) {}

  async open(): Promise<OpenAlert[]> {
    const { rows } = await this.database.pool.query<AlertRow>(
      `SELECT id, key, item, seen_at AS seen, started_at AS started, missing_at AS missing FROM cc.alerts WHERE ended_at IS NULL`,
    );
    return rows.map(({ id, key, item, seen, started, missing }) => ({
      ...{ id, key, item, seenMs: seen.getTime() },
      startedMs: started?.getTime(),
      missingMs: missing?.getTime(),
    }));
  }

  /** The changes and the messages about them are stored together. */
  async apply(changes: readonly AlertChange[], channels: readonly AlertChannel[], nowMs: number): Promise<void> {
    const now = new Date(nowMs);
    await transaction(this.database.pool, async (client) => {
      for (const change of changes) await applyChange(client, change, now);
      await this.announce(client, channels, now);
      await client.query('DELETE FROM cc.alerts WHERE ended_at < $1::timestamptz - make_interval(days => $2)', [
        now,
        KEPT_DAYS,
      ]);
    });
  }

  /** The first message of each channel, if it is due. A time that is far ahead was stored by a clock that was ahead. */
  async due(channels: readonly string[], nowMs: number, maxWaitMs: number): Promise<DueMessage[]> {
    const { rows } = await this.database.pool.query<
      DueMessage & { readonly started: Date; readonly ended: Date | null; readonly created: Date }
    >(
      `SELECT m.id, m.channel, m.type, m.attempts, m.created_at AS created, a.id AS "alertId", a.item,
              a.started_at AS started, a.ended_at AS ended
         FROM (SELECT DISTINCT ON (channel) * FROM cc.alert_messages WHERE settled_at IS NULL AND channel = ANY ($1)
                ORDER BY channel, created_at, id) m
         JOIN cc.alerts a ON a.id = m.alert WHERE m.due <= $2 OR m.due > $3`,
      [channels, new Date(nowMs), new Date(nowMs + maxWaitMs)],
    );
    return rows.map(({ started, ended, created, ...message }) => ({
      ...message,
      startedAt: started.toISOString(),
      // That of its start is the same after the end.
      endedAt: message.type === 'ended' ? ended?.toISOString() : undefined,
      createdMs: created.getTime(),
    }));
  }

  async settle(id: string, delivered: boolean, reason: string | undefined, nowMs: number): Promise<void> {
    await this.database.pool.query(
      `UPDATE cc.alert_messages SET settled_at = $2, delivered = $3, reason = $4, attempts = attempts + 1
        WHERE id = $1 AND settled_at IS NULL`,
      [id, new Date(nowMs), delivered, reason ?? null],
    );
  }

  async postpone(id: string, dueMs: number, reason: string): Promise<void> {
    await this.database.pool.query(
      'UPDATE cc.alert_messages SET due = $2, reason = $3, attempts = attempts + 1 WHERE id = $1 AND settled_at IS NULL',
      [id, new Date(dueMs), reason],
    );
  }

  /** Every channel is told of each alert that concerns it and has not ended, also one that was added or resumed since. */
  private async announce(client: ClientBase, channels: readonly AlertChannel[], now: Date): Promise<void> {
    const { rows } = await client.query<{ id: string; item: AttentionItem }>(
      'SELECT id, item FROM cc.alerts WHERE started_at IS NOT NULL AND ended_at IS NULL ORDER BY started_at, id',
    );
    const told = rows.flatMap(({ id, item }) =>
      channels.filter((channel) => isToldOf(channel, item)).map((channel) => ({ alert: id, channel: channel.id })),
    );
    if (told.length === 0) return;
    const messages = told.map((message) => ({ ...message, id: messageId(message.alert, message.channel, 'started') }));
    await client.query(
      `INSERT INTO cc.alert_messages (id, alert, channel, type, created_at, due)
       SELECT id, alert, channel, 'started', $2, $2 FROM json_to_recordset($1) AS m (id uuid, alert uuid, channel uuid)
       ON CONFLICT DO NOTHING`,
      [JSON.stringify(messages), now],
    );
  }
}

function messageId(alert: string, channel: string, type: string): string {
  return derivedUuid(`alert ${alert} ${channel} ${type}`);
}

async function applyChange(client: ClientBase, change: AlertChange, now: Date): Promise<void> {
  switch (change.kind) {
    case 'seen':
      await client.query(
        'INSERT INTO cc.alerts (id, key, item, seen_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
        [uuidv7(), change.key, JSON.stringify(change.item), now],
      );
      return;
    case 'dismissed':
      await client.query('DELETE FROM cc.alerts WHERE id = $1 AND started_at IS NULL', [change.id]);
      return;
    case 'started':
      await client.query('UPDATE cc.alerts SET started_at = $2 WHERE id = $1 AND started_at IS NULL', [change.id, now]);
      return;
    case 'missing':
      await client.query(
        'UPDATE cc.alerts SET missing_at = $2 WHERE id = $1 AND missing_at IS NULL AND ended_at IS NULL',
        [change.id, now],
      );
      return;
    case 'back':
      await client.query('UPDATE cc.alerts SET missing_at = NULL WHERE id = $1 AND ended_at IS NULL', [change.id]);
      return;
    case 'ended':
      await end(client, change, now);
  }
}

/** Those who were told of the start are told of the end, if it is one. */
async function end(
  client: ClientBase,
  { id, missingMs, told }: AlertChange & { kind: 'ended' },
  now: Date,
): Promise<void> {
  const { rowCount } = await client.query(
    'UPDATE cc.alerts SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL AND missing_at = $3',
    [id, now, new Date(missingMs)],
  );
  if (rowCount === 0 || !told) return;
  const { rows } = await client.query<{ channel: string }>(
    `SELECT channel FROM cc.alert_messages WHERE alert = $1 AND type = 'started'`,
    [id],
  );
  for (const { channel } of rows)
    await client.query(
      `INSERT INTO cc.alert_messages (id, alert, channel, type, created_at, due) VALUES ($1, $2, $3, 'ended', $4, $4)
       ON CONFLICT DO NOTHING`,
      [messageId(id, channel, 'ended'), id, channel, now],
    );
}
