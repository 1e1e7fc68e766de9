const MIN_BYTES = 4_096;

/** Collects the first bytes of a stream, up to a maximum. Uses at most twice that memory, however small the chunks are. */
export class FirstBytes {
  private buffer: Buffer = Buffer.alloc(0);
  private length = 0;
  /** Whether there were more bytes than the maximum. */
  cut = false;

  constructor(private readonly max: number) {}

  append(piece: Buffer): void {
    const free = this.max - this.length;
    const part = piece.length > free ? piece.subarray(0, free) : piece;
    if (part !== piece) this.cut = true;
    // Most responses are one chunk, which is not copied.
    if (this.length === 0) this.buffer = part;
    else {
      this.growBy(part.length);
      part.copy(this.buffer, this.length);
    }
    this.length += part.length;
  }

  get bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  private growBy(more: number): void {
    const needed = this.length + more;
    if (needed <= this.buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.min(this.max, Math.max(needed, 2 * this.buffer.length, MIN_BYTES)));
    this.buffer.copy(grown, 0, 0, this.length);
    this.buffer = grown;
  }
}
