import type { ClientBase } from 'pg';
import { hasUnpublished } from '../events/unpublished-fields.js';
import { type ChainReader, readChain } from '../log/audit/chain-audit.js';
import type { SealedRow } from '../log/audit/sealed-row.js';
import type { Digest, Seal } from '../log/audit/seals.js';

/** A page is held in memory as text. */
const PAGE_SEALS = 1_000;

interface CoveredEvent {
  readonly position: number;
  readonly reference?: string | undefined;
  /** Digest of the personal part. */
  readonly personal?: Digest;
  readonly digest: Digest;
  /** Exports show the event without some of its data, so that its digest cannot be recomputed from them. */
  readonly redacted?: true;
  /** Retention has removed the event. */
  readonly removed?: true;
}

/**
 * Writes the seals, one JSON object per line, with what an export of the events does not contain: references, the digests of
 * personal parts, and the digests of events that are redacted in exports or were removed. Both together are enough to recompute
 * the chain with other software.
 */
export async function exportSeals(
  client: ClientBase,
  until: number,
  write: (text: string, position: number) => Promise<void>,
) {
  const lines = new SealLines(write);
  await readChain(client, until, lines, PAGE_SEALS);
}

class SealLines implements ChainReader {
  private events: CoveredEvent[] = [];
  private lines = '';
  private position = 0;

  constructor(private readonly write: (text: string, position: number) => Promise<void>) {}

  event(row: SealedRow, isSealed: boolean): void {
    if (!isSealed) return;
    const personal = row.personalDigest();
    this.events.push({
      position: row.position,
      reference: row.reference,
      ...(personal !== null && { personal }),
      digest: row.digest(),
      ...(hasUnpublished(row.type, row.dataText) && { redacted: true }),
    });
  }

  seal({ first, last, count, digest, head }: Seal, removed: ReadonlyMap<number, Digest>): void {
    for (const [position, missing] of removed) this.events.push({ position, digest: missing, removed: true });
    this.events.sort((one, other) => one.position - other.position);
    this.lines += `${JSON.stringify({ first, last, count, digest, head, events: this.events })}\n`;
    this.events = [];
    this.position = last;
  }

  async page(): Promise<void> {
    if (this.lines !== '') await this.write(this.lines, this.position);
    this.lines = '';
  }
}
