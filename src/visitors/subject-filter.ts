// Not looked up for each subject.
const { imul } = Math;
const { parseInt: parseNumber } = Number;

const BITS_MIN = 2 ** 20;
/** 16 MB, which is enough for ten million subjects. With more of them it only finds too many. */
const BITS_MAX = 2 ** 27;
const BITS_PER_SUBJECT = 16;
const BITS_PER_SUBJECT_MIN = 12;
const PROBES = 6;

/**
 * A Bloom filter of the subjects of all sites. It may take a subject for a known one (about 2 in 1,000 at most), but never the
 * reverse. Subjects are hashes, so their first bytes are as good as any others.
 */
export class SubjectFilter {
  private readonly words: Uint32Array;
  private readonly mask: number;
  /** How many subjects were added, except for those that it took for known ones. */
  size = 0;

  constructor(expectedSubjects: number) {
    const bits = 2 ** Math.ceil(Math.log2(Math.max(1, expectedSubjects) * BITS_PER_SUBJECT));
    const bounded = Math.min(BITS_MAX, Math.max(BITS_MIN, bits));
    this.words = new Uint32Array(bounded / 32);
    this.mask = bounded - 1;
  }

  get bytes(): number {
    return this.words.byteLength;
  }

  /** It holds more than it was sized for, and a larger one would find less by mistake. */
  get isFull(): boolean {
    const bits = this.mask + 1;
    return bits < BITS_MAX && this.size * BITS_PER_SUBJECT_MIN > bits;
  }

  /** The subject in hex. */
  add(site: string, subject: string): void {
    this.addKey(site, numberAt(subject, 0), numberAt(subject, 8));
  }

  /** The first eight bytes of each subject. */
  addAll(site: string, keys: Buffer): void {
    for (let at = 0; at + 8 <= keys.length; at += 8)
      this.addKey(site, keys.readUInt32BE(at), keys.readUInt32BE(at + 4));
  }

  has(site: string, subject: string): boolean {
    const seed = hashOf(site);
    let bit = mixed(numberAt(subject, 0) ^ seed);
    const step = mixed(numberAt(subject, 8) ^ seed) | 1;
    for (let probe = 0; probe < PROBES; probe += 1) {
      const at = bit & this.mask;
      if (((this.words[at >>> 5] as number) & (1 << (at & 31))) === 0) return false;
      bit = (bit + step) | 0;
    }
    return true;
  }

  private addKey(site: string, high: number, low: number): void {
    const seed = hashOf(site);
    let bit = mixed(high ^ seed);
    const step = mixed(low ^ seed) | 1;
    let isNew = false;
    for (let probe = 0; probe < PROBES; probe += 1) {
      const at = bit & this.mask;
      const word = this.words[at >>> 5] as number;
      const changed = word | (1 << (at & 31));
      if (changed !== (word | 0)) {
        this.words[at >>> 5] = changed;
        isNew = true;
      }
      bit = (bit + step) | 0;
    }
    if (isNew) this.size += 1;
  }
}

function numberAt(hex: string, at: number): number {
  return parseNumber(hex.slice(at, at + 8), 16);
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

/** The last step of MurmurHash3: senders may choose subjects whose bytes are not random. */
function mixed(value: number): number {
  let hash = value ^ (value >>> 16);
  hash = imul(hash, 0x85ebca6b);
  hash = imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
