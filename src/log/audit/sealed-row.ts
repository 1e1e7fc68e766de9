import { EventRow, NULL, plain, rowColumns } from '../event-row.js';
import { type Digest, eventDigest, personalDigest } from './seals.js';

/** The columns in the order that `SealedRow` expects, of events e, personal parts p and erased parts x. */
export const SEALED_COLUMNS = `${rowColumns('all')}, e.reference, encode(p.salt, 'hex'), p.site, encode(x.digest, 'hex')`;

/** Length of the salt of every personal part that a seal covers. */
const SALT_BYTES = 16;

/** A row of the log with everything that its seal covers. Valid until the next row, like `EventRow`. */
export class SealedRow extends EventRow {
  get hasPersonal(): boolean {
    return this.fields[10] === 't';
  }

  /** The personal part was covered by a seal when it was appended. */
  get hasSalt(): boolean {
    return this.fields[14] !== NULL;
  }

  get isErased(): boolean {
    return this.fields[16] !== NULL;
  }

  /** What contradicts itself in this row and is not covered by the digest. */
  contradiction(): string | undefined {
    if (this.hasPersonal && this.isErased) return 'has a personal part although it is recorded as erased';
    if (this.hasPersonal && this.fields[15] !== this.fields[6]) return 'has a personal part of another site';
    // The digest covers salt and subject one after the other, and not where the one ends and the other begins.
    if (this.hasSalt && (this.fields[14] as string).length !== 2 * SALT_BYTES)
      return 'has a personal part whose salt has another length than the service gives it';
    return undefined;
  }

  /** Recomputed from the stored event and its personal part. */
  digest(): Digest {
    const [position, id, category, stream, version, type, site, time, actor, data] = this.fields as string[];
    return eventDigest({
      position: Number(position),
      id: id as string,
      category: plain(category as string),
      stream: stream as string,
      version: Number(version),
      type: plain(type as string),
      site: plain(site as string),
      timeMs: Number(time),
      actor: plain(actor as string),
      reference: this.reference ?? null,
      data: plain(data as string),
      personal: this.personalDigest(),
    });
  }

  get reference(): string | undefined {
    const reference = this.fields[13] as string;
    return reference === NULL ? undefined : plain(reference);
  }

  /** Null if the event never had a personal part. */
  personalDigest(): Digest | null {
    const [subject, data, salt] = [this.fields[11], this.fields[12], this.fields[14]] as [string, string, string];
    if (this.hasPersonal)
      return personalDigest(
        salt === NULL ? Buffer.alloc(0) : Buffer.from(salt, 'hex'),
        subject === NULL ? null : Buffer.from(subject, 'hex'),
        data === NULL ? null : plain(data),
      );
    return this.isErased ? (this.fields[16] as string) : null;
  }
}
