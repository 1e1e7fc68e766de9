import { readStoredCheckpoints } from '../checkpoints/checkpoints.js';
import { readFirstKey } from '../checkpoints/signing-keys.js';
import { messageOf } from '../kernel/errors.js';
import type { Settings } from '../kernel/settings/settings.js';
import { auditChain, readChainHead } from '../log/audit/chain-audit.js';
import type { RemovedRange } from '../log/audit/chain-verifier.js';
import { copyStreams } from '../log/audit/log-audit.js';
import type { SealedRow } from '../log/audit/sealed-row.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { readHead } from '../log/event-reader.js';
import type { ProjectionRunner } from '../log/projections/projection-runner.js';
import { readArrivedSites } from '../log/site-copy/arrived-sites.js';
import type { Postgres } from '../postgres/postgres.js';
import { withConnection } from '../postgres/with-connection.js';
import type { SiteRepository } from '../sites/site-repository.js';
import type { SiteSecrets } from '../sites/site-secrets.js';
import { ChainCheck } from './reconciliation/chain.check.js';
import type { Finding } from './reconciliation/violations.js';

/** What is trusted although it is not derived from the log. */
export interface Trust {
  /** Checkpoints kept elsewhere, and what to call the place. */
  readonly against?: { readonly name: string; readonly tokens: readonly string[] };
  /** Trusted public keys in PEM. Without them, the first key of this database. */
  readonly publicKeys?: readonly string[];
}

/** Dependencies of the checks. */
export interface VerifyDependencies {
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly sites: SiteRepository;
  readonly secrets: SiteSecrets;
  readonly projections: ProjectionRunner;
  readonly settings: Settings;
  /** Head of the log when verification started. Later events are not checked. */
  readonly until: number;
  /** Retention has removed the events up to this position; 0 if it has removed none. */
  readonly removedUntil: number;
  readonly trust: Trust;
  progress(line: string): void;
}

/** Compares stored results with what the log implies. */
export interface Check {
  readonly name: string;
  examine(dependencies: VerifyDependencies): Promise<Finding>;
}

/** Whether the first events of streams of a site may be missing. */
export type IsPartial = (site: string) => boolean;

/** A check that reads the log stream by stream. All of these share one pass over the log. */
export interface StreamCheck {
  readonly name: string;
  /** Called with each whole stream, up to the position that verification ends at. */
  read(events: readonly StoredEvent[]): void;
  finish(): Finding;
}

/** A check that reads the log in order. All of these share one pass over the log, with the check of its hash chain. */
export interface EventCheck {
  readonly name: string;
  /** The row is valid during the call only. */
  read(row: SealedRow): void;
  /** `removals`: what retention has removed, as far as it is signed. */
  finish(removals: readonly RemovedRange[]): Finding;
}

export interface VerifyReport {
  readonly ok: boolean;
  readonly checks: readonly (Finding & { readonly name: string })[];
}

/** Runs every check. A check that throws has failed. */
export async function verify(
  dependencies: VerifyDependencies,
  eventChecks: readonly EventCheck[],
  streamChecks: readonly StreamCheck[],
  checks: readonly Check[],
): Promise<VerifyReport> {
  const found: (Finding & { name: string })[] = [
    ...(await runEventChecks(dependencies, eventChecks)),
    ...(await runStreamChecks(dependencies, streamChecks)),
  ];
  for (const check of checks) {
    dependencies.progress(`${check.name} …`);
    const finding = await check
      .examine(dependencies)
      .catch((error: unknown) => ({ ok: false, detail: `the check failed: ${messageOf(error)}` }));
    found.push({ name: check.name, ...finding });
  }
  return { ok: found.every(({ ok }) => ok), checks: found };
}

async function runEventChecks(dependencies: VerifyDependencies, checks: readonly EventCheck[]) {
  const { postgres, settings, trust, progress } = dependencies;
  // On a busy machine the checks of a page may take longer than a session of the service may be idle in a transaction.
  let events = 0;
  return withConnection(postgres.connect('verify', { idle_in_transaction_session_timeout: '5min' }), async (client) => {
    // One snapshot: an erasure or a removal by retention is seen with all its parts, or not at all.
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const stored = (await readStoredCheckpoints(client)).map(({ token }) => token);
    const chain = new ChainCheck(settings.cell, trust.publicKeys ?? (await readFirstKey(client)), [
      ...stored,
      ...(trust.against?.tokens ?? []),
    ]);
    // Up to the last seal as well: if the newest events are missing, their seals may still be there.
    const last = Math.max(await readHead(client), (await readChainHead(client))?.position ?? 0);
    const arrived = await readArrivedSites(client);
    const counts = await auditChain(client, last, {
      keepsTime: ({ site }) => arrived.has(site),
      event: (row) => {
        for (const check of checks) check.read(row);
        chain.read(row);
        events += 1;
        if (events % 10_000 === 0) progress(`chain: ${events} events read`);
      },
      violation: (text) => chain.violation(text),
      removals: () => chain.removals(),
    });
    return [
      { name: chain.name, ...chain.finish(counts) },
      ...checks.map((check) => ({ name: check.name, ...check.finish(chain.removals()) })),
    ];
  });
}

async function runStreamChecks({ postgres, until, progress }: VerifyDependencies, checks: readonly StreamCheck[]) {
  let events = 0;
  await withConnection(postgres.connect('verify'), async (client) => {
    await copyStreams(client, until, (stream) => {
      for (const check of checks) check.read(stream);
      events += stream.length;
      if (events % 10_000 < stream.length) progress(`streams: ${events} events read`);
    });
  });
  return checks.map((check) => ({ name: check.name, ...check.finish() }));
}
