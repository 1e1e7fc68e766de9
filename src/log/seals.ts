import { hash } from 'node:crypto';
import type { Queryable } from './event-reader.js';

/** The head before the first seal of a log. */
export const FIRST_HEAD: Buffer = Buffer.alloc(32);

/** What the chain covers of an event, as texts in the form that `docs/audit.md` defines. */
export interface CanonicalEvent {
  readonly position: string;
  readonly id: string;
  readonly category: string;
  readonly stream: string;
  readonly version: string;
  readonly type: string;
  readonly site: string;
  /** Milliseconds since 1970. */
  readonly time: string;
  readonly actor: string;
  readonly reference: string | undefined;
  /** The JSON text as stored. */
  readonly data: string;
  /** Digest of the personal part in hex; empty if there is none. */
  readonly personal: string;
}

/** SHA-256 of the canonical form. `cc.event_digest` computes the same inside the append. */
export function eventDigest(event: CanonicalEvent): Buffer {
  const { position, id, category, stream, version, type, site, time, actor, reference, data, personal } = event;
  return sha256(
    `${position}\n${id}\n${sized(category)}\n${stream}\n${version}\n${sized(type)}\n${sized(site)}\n${time}\n` +
      `${sized(actor)}\n${reference === undefined ? '' : sized(reference)}\n${sized(data)}\n${personal}\n`,
  );
}

/** Digest of a personal part. Its salt is deleted with it, so the digest reveals nothing about an erased person. */
export function personalDigest(salt: Buffer, subject: Buffer, data: string): Buffer {
  return sha256(Buffer.concat([salt, subject, Buffer.from(`\0${data}`)]));
}

export function batchDigest(events: readonly Buffer[]): Buffer {
  return sha256(Buffer.concat(events));
}

export function nextHead(previous: Buffer, digest: Buffer): Buffer {
  return sha256(Buffer.concat([previous, digest]));
}

/** Preceded by its length in bytes, so that no content can be taken for the end of the field. */
function sized(text: string): string {
  return `${Buffer.byteLength(text)}:${text}`;
}

function sha256(of: string | Buffer): Buffer {
  return hash('sha256', of, 'buffer');
}

export interface ChainHead {
  /** Position of the last event that the head covers. */
  readonly position: number;
  readonly head: Buffer;
}

/** Undefined in a log without seals. */
export async function readChainHead(source: Queryable): Promise<ChainHead | undefined> {
  const { rows } = await source.query<{ last: string; head: Buffer }>(
    'SELECT last, head FROM cc.seals ORDER BY last DESC LIMIT 1',
  );
  return rows[0] && { position: Number(rows[0].last), head: rows[0].head };
}
