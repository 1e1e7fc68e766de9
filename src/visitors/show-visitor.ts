import type { Pool } from 'pg';
import { type ConsentState } from '../events/visitor.events.js';
import { meaningOf } from './consent.js';
import { CLICK_KINDS } from './identifier-kinds.js';

/** A person's identifier record and consent. */
export interface ShownVisitor {
  readonly subject: string;
  readonly clicks: Record<string, { id: string; time: string; page?: string }>;
  readonly first: unknown;
  readonly last: unknown;
  readonly visit: unknown;
  readonly bot: unknown;
  readonly consent: (ConsentState & { readonly means: string; readonly time: string }) | null;
}

export async function showVisitor(pool: Pool, site: string, subject: string): Promise<ShownVisitor | undefined> {
  const key = [site, Buffer.from(subject, 'hex')];
  const identifiers = await pool.query<{ kind: string; at: Date; value: unknown }>(
    'SELECT kind, at, value FROM cc.identifiers WHERE site = $1 AND subject = $2 ORDER BY kind',
    key,
  );
  const consent = await pool.query<{ at: Date; state: ConsentState }>(
    'SELECT at, state FROM cc.consent WHERE site = $1 AND subject = $2',
    key,
  );
  if (identifiers.rows.length + consent.rows.length === 0) return undefined;
  const byKind = new Map(identifiers.rows.map((row) => [row.kind, row] as const));
  const entry = <Value extends object>(kind: string) => {
    const row = byKind.get(kind);
    return row ? { time: row.at.toISOString(), ...(row.value as Value) } : null;
  };
  const [latest] = consent.rows;
  return {
    subject,
    clicks: Object.fromEntries(
      CLICK_KINDS.flatMap((kind) => {
        const click = entry<{ id: string; page?: string }>(kind);
        return click ? [[kind, click]] : [];
      }),
    ),
    first: entry('first'),
    last: entry('last'),
    visit: entry('visit'),
    bot: entry('bot'),
    consent: latest ? { ...latest.state, means: meaningOf(latest.state), time: latest.at.toISOString() } : null,
  };
}
