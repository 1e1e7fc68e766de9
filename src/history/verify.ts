import { messageOf } from '../kernel/errors.js';
import type { Settings } from '../kernel/settings.js';
import type { StoredEvent } from '../log/event.js';
import { copyStreams } from '../log/event-audit.js';
import type { EventLog } from '../log/event-log.js';
import type { ProjectionRunner } from '../log/projection-runner.js';
import type { Postgres } from '../postgres/postgres.js';
import type { SiteRepository } from '../sites/site-repository.js';
import type { SiteSecrets } from '../sites/site-secrets.js';

/** What checks may look at. */
export interface VerifyWorld {
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly sites: SiteRepository;
  readonly secrets: SiteSecrets;
  readonly projections: ProjectionRunner;
  readonly settings: Settings;
  /** The log's head when the check began: what comes later is the next one's. */
  readonly until: number;
  progress(line: string): void;
}

export interface Finding {
  readonly ok: boolean;
  /** What was counted; of a book that does not close, what is wrong and where to look. */
  readonly detail: string;
}

/** One book, recomputed from what is stored. */
export interface Check {
  readonly name: string;
  examine(world: VerifyWorld): Promise<Finding>;
}

/** A book that is read stream by stream. All of these share one pass over the log. */
export interface StreamBook {
  readonly name: string;
  /** A whole stream, as far as the log goes. */
  read(events: readonly StoredEvent[]): void;
  close(): Finding;
}

export interface Verdict {
  readonly ok: boolean;
  readonly checks: readonly (Finding & { readonly name: string })[];
}

/** Recomputes every book. One that cannot be read is one that does not close. */
export async function verify(
  world: VerifyWorld,
  streamBooks: readonly StreamBook[],
  checks: readonly Check[],
): Promise<Verdict> {
  const found: (Finding & { name: string })[] = await readStreams(world, streamBooks);
  for (const check of checks) {
    world.progress(`${check.name} …`);
    const finding = await check
      .examine(world)
      .catch((error: unknown) => ({ ok: false, detail: `it could not be read: ${messageOf(error)}` }));
    found.push({ name: check.name, ...finding });
  }
  return { ok: found.every(({ ok }) => ok), checks: found };
}

async function readStreams({ postgres, until, progress }: VerifyWorld, books: readonly StreamBook[]) {
  const client = await postgres.connect('cc-verify');
  let events = 0;
  try {
    await copyStreams(client, until, (stream) => {
      for (const book of books) book.read(stream);
      events += stream.length;
      if (events % 10_000 < stream.length) progress(`streams: ${events} events read`);
    });
  } finally {
    await client.end();
  }
  return books.map((book) => ({ name: book.name, ...book.close() }));
}
