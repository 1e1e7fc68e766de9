const START_SLOTS = 1 << 16;
const SLOTS_MAX = 1 << 24;

/** Remembers UUIDs by 64 of their bits, in 16 to 32 bytes each, so that millions of lines fit in memory. */
export class IdSet {
  private slots = new BigUint64Array(START_SLOTS);
  private count = 0;

  /** There is no room for more: further ids are not remembered. */
  get isFull(): boolean {
    return this.count >= SLOTS_MAX / 2;
  }

  add(uuid: string): void {
    const bits = bitsOf(uuid);
    const at = this.slotOf(bits);
    if (this.slots[at] === bits || this.isFull) return;
    this.slots[at] = bits;
    this.count += 1;
    if (this.count * 2 > this.slots.length) this.grow();
  }

  has(uuid: string): boolean {
    const bits = bitsOf(uuid);
    return this.slots[this.slotOf(bits)] === bits;
  }

  /** Where the bits are, or the free slot for them. The variant of a UUID makes them never zero. */
  private slotOf(bits: bigint): number {
    const mask = this.slots.length - 1;
    let at = Number(bits & 0xffffffn) & mask;
    while (this.slots[at] !== 0n && this.slots[at] !== bits) at = (at + 1) & mask;
    return at;
  }

  private grow(): void {
    const before = this.slots;
    this.slots = new BigUint64Array(before.length * 2);
    for (const bits of before) if (bits !== 0n) this.slots[this.slotOf(bits)] = bits;
  }
}

function bitsOf(uuid: string): bigint {
  return BigInt(`0x${uuid.replaceAll('-', '').slice(-16)}`);
}
