import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

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
const WAITING_MAX = 20;

/** More passwords wait to be hashed than can be answered soon. */
export class TooManyPasswords extends Error {
  override readonly name = 'TooManyPasswords';
}

/** Hashes few passwords at a time: each one takes a thread and much memory, which anonymous callers must not use up. */
export class PasswordHasher {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly cost = COST) {}

  async hash(password: string): Promise<string> {
    const { N, r, p } = this.cost;
    const salt = randomBytes(SALT_BYTES);
    const digest = await this.derive(password, salt, this.cost);
    return ['scrypt', N, r, p, salt.toString('base64'), digest.toString('base64')].join('$');
  }

  /** Takes as long without a stored hash, so that the time does not tell whether a user exists. */
  async matches(password: string, stored: string | null | undefined): Promise<boolean> {
    const [, N, r, p, salt = '', digest] = stored?.split('$') ?? [];
    const cost = stored ? { N: Number(N), r: Number(r), p: Number(p) } : this.cost;
    const derived = await this.derive(password, Buffer.from(salt, 'base64'), cost);
    return digest !== undefined && timingSafeEqual(derived, Buffer.from(digest, 'base64'));
  }

  private async derive(password: string, salt: Buffer, cost: Cost): Promise<Buffer> {
    await this.acquire();
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

  private async acquire(): Promise<void> {
    if (this.running < CONCURRENCY_MAX) {
      this.running += 1;
      return;
    }
    if (this.waiting.length >= WAITING_MAX) throw new TooManyPasswords();
    // The one that ends hands its place over, so `running` does not change.
    await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  private release(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.running -= 1;
  }
}
