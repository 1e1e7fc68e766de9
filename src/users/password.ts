import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { TooManyRequests } from '../kernel/errors.js';

interface Cost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

/** 32 MiB and about 0.2 s per password: OWASP's parameters for scrypt with this much memory. */
const COST: Cost = { N: 2 ** 15, r: 8, p: 3 };
const MEMORY_MAX_BYTES = 64 * 1024 * 1024;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

const CONCURRENCY_MAX = 2;
const WAITING_MAX = 40;
const WAITING_OF_CALLER_MAX = 4;
const RETRY_AFTER_S = 5;

/** The caller that a password is hashed for. */
export interface HashCaller {
  /** Id of a user that is known by a session, a link or its browser; otherwise the network. */
  readonly id: string;
  /** Comes before all that are not. */
  readonly isKnown: boolean;
}

export function knownUser(id: string): HashCaller {
  return { id, isKnown: true };
}

interface Waiting {
  readonly id: string;
  readonly admit: () => void;
}

/**
 * Hashes few passwords at a time: each one takes a thread and much memory, which anonymous callers must not use up. Few of each
 * network wait, and those of known users wait apart: many guesses at once keep neither other networks nor users out.
 */
export class PasswordHasher {
  private running = 0;
  private readonly known: Waiting[] = [];
  private readonly unknown: Waiting[] = [];

  constructor(private readonly cost = COST) {}

  async hash(password: string, caller: HashCaller): Promise<string> {
    const { N, r, p } = this.cost;
    const salt = randomBytes(SALT_BYTES);
    const digest = await this.derive(password, salt, this.cost, caller);
    return ['scrypt', N, r, p, salt.toString('base64'), digest.toString('base64')].join('$');
  }

  /** Takes as long without a stored hash, so that the time does not tell whether a user exists. */
  async matches(password: string, stored: string | null | undefined, caller: HashCaller): Promise<boolean> {
    const [, N, r, p, salt = '', digest] = stored?.split('$') ?? [];
    const cost = stored ? { N: Number(N), r: Number(r), p: Number(p) } : this.cost;
    const derived = await this.derive(password, Buffer.from(salt, 'base64'), cost, caller);
    return digest !== undefined && timingSafeEqual(derived, Buffer.from(digest, 'base64'));
  }

  private async derive(password: string, salt: Buffer, cost: Cost, caller: HashCaller): Promise<Buffer> {
    await this.acquire(caller);
    try {
      return await new Promise((resolve, reject) => {
        const options = { ...cost, maxmem: MEMORY_MAX_BYTES };
        const done = (error: Error | null, key: Buffer) => (error ? reject(error) : resolve(key));
        scrypt(password.normalize('NFKC'), salt, HASH_BYTES, options, done);
      });
    } finally {
      this.release();
    }
  }

  private async acquire({ id, isKnown }: HashCaller): Promise<void> {
    if (this.running < CONCURRENCY_MAX) {
      this.running += 1;
      return;
    }
    const queue = isKnown ? this.known : this.unknown;
    const own = queue.filter((waiting) => waiting.id === id);
    if (queue.length >= WAITING_MAX || own.length >= WAITING_OF_CALLER_MAX)
      throw new TooManyRequests('Too many passwords are being checked. Try again in a few seconds.', RETRY_AFTER_S);
    // The one that ends hands its place over, so `running` does not change.
    await new Promise<void>((admit) => queue.push({ id, admit }));
  }

  private release(): void {
    const next = this.known.shift() ?? this.unknown.shift();
    if (next) next.admit();
    else this.running -= 1;
  }
}
