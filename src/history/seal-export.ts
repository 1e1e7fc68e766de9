import type { ClientBase } from 'pg';
import { type ChainReader, readChain } from '../log/chain-audit.js';
import type { Seal } from '../log/chain-verifier.js';
import type { SealedRow } from '../log/sealed-row.js';

/** A page is held in memory as text. */
const PAGE_SEALS = 1_000;

interface CoveredEvent {
  readonly position: number;
  readonly reference?: string | undefined;
  /** Digest of the personal part. */
  readonly personal?: string;
  readonly digest: string;
  /** Retention has removed the event. */
  readonly removed?: true;
}

/**
 * Writes the seals, one JSON object per line, with what an export of the events does not contain: references, the digests of
 * personal parts, and the digests of events that are redacted in exports or were removed. Both together are enough to recompute
 * the chain with other software.
 */
export async function exportSeals(client: ClientBase, until: number, write: (text: string) => Promise<void>) {
  const lines = new SealLines(write);
  await readChain(client, until, lines, PAGE_SEALS);
}

class SealLines implements ChainReader {
  private events: CoveredEvent[] = [];
  private lines = '';

  constructor(private readonly write: (text: string) => Promise<void>) {}

  event(row: SealedRow, isSealed: boolean): void {
    if (!isSealed) return;
    const personal = row.personalDigest();
    this.events.push({
      position: row.position,
      reference: row.reference,
      ...(personal !== '' && { personal }),
      digest: row.digest().toString('hex'),
    });
  }

  seal({ first, last, count, digest, head }: Seal, removed: ReadonlyMap<number, Buffer>): void {
    for (const [position, missing] of removed)
      this.events.push({ position, digest: missing.toString('hex'), removed: true });
    this.events.sort((one, other) => one.position - other.position);
    const seal = { first, last, count, digest: digest.toString('hex'), head: head.toString('hex') };
    this.lines += `${JSON.stringify({ ...seal, events: this.events })}\n`;
    this.events = [];
  }

  async page(): Promise<void> {
    if (this.lines !== '') await this.write(this.lines);
    this.lines = '';
  }
}
