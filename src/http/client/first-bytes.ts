const SMALLEST = 4_096;

/** The first bytes of what comes in pieces, up to a maximum. However small the pieces, it takes no more memory than that twice. */
export class FirstBytes {
  private buffer: Buffer = Buffer.alloc(0);
  private length = 0;
  /** Whether there was more than the maximum. */
  cut = false;

  constructor(private readonly max: number) {}

  take(piece: Buffer): void {
    const room = this.max - this.length;
    const taken = piece.length > room ? piece.subarray(0, room) : piece;
    if (taken !== piece) this.cut = true;
    // Nearly always there is one piece, which is not copied.
    if (this.length === 0) this.buffer = taken;
    else {
      this.makeRoomFor(taken.length);
      taken.copy(this.buffer, this.length);
    }
    this.length += taken.length;
  }

  get bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  private makeRoomFor(more: number): void {
    const needed = this.length + more;
    if (needed <= this.buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.min(this.max, Math.max(needed, 2 * this.buffer.length, SMALLEST)));
    this.buffer.copy(grown, 0, 0, this.length);
    this.buffer = grown;
  }
}
