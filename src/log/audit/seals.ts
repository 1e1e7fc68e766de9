import { createHash } from 'node:crypto';

/** SHA-256 in hex everywhere: of events, personal parts, batches and the chain. */
export type Digest = string;

/** The head before the first seal. */
export const CHAIN_START: Digest = '00'.repeat(32);

/** What a digest covers of an event: the columns of the log, each as text. */
export interface SealedEvent {
  readonly position: number;
  readonly id: string;
  readonly category: string;
  /** The id of the stream, without its category. */
  readonly stream: string;
  readonly version: number;
  readonly type: string;
  readonly site: string;
  readonly timeMs: number;
  readonly actor: string;
  readonly reference: string | null;
  /** The JSON text as stored. */
  readonly data: string;
  /** Digest of the personal part; null if the event was stored without one. */
  readonly personal: Digest | null;
}

/** A row of cc.seals: one batch of events. */
export interface Seal {
  readonly first: number;
  readonly last: number;
  readonly count: number;
  readonly digest: Digest;
  readonly head: Digest;
  readonly timeMs: number;
}

/**
 * The canonical form, which does not depend on the layout of tables: one field per line. A text is preceded by its length in
 * bytes, so that a line break in it cannot be taken for the end of the field. `cc.event_digest` computes the same.
 */
export function canonicalForm(event: SealedEvent): string {
  return [
    event.position,
    event.id,
    withLength(event.category),
    event.stream,
    event.version,
    withLength(event.type),
    withLength(event.site),
    event.timeMs,
    withLength(event.actor),
    event.reference === null ? '' : withLength(event.reference),
    withLength(event.data),
    event.personal ?? '',
    '',
  ].join('\n');
}

export function eventDigest(event: SealedEvent): Digest {
  return sha256(canonicalForm(event));
}

/** The last 0x00 ends the subject: JSON text does not contain one. `data` is the JSON text as stored. */
export function personalDigest(salt: Buffer, subject: Buffer | null, data: string | null): Digest {
  return sha256(Buffer.concat([salt, subject ?? Buffer.alloc(0), Buffer.alloc(1), Buffer.from(data ?? '')]));
}

/** Over the digests of the batch's events, in the order of their positions. */
export function batchDigest(events: readonly Digest[]): Digest {
  return sha256(Buffer.from(events.join(''), 'hex'));
}

export function chainHead(previous: Digest, batch: Digest): Digest {
  return sha256(Buffer.from(previous + batch, 'hex'));
}

function withLength(text: string): string {
  return `${Buffer.byteLength(text)}:${text}`;
}

function sha256(bytes: string | Buffer): Digest {
  return createHash('sha256').update(bytes).digest('hex');
}
