const BITS = 65_536;

/** A set of positions, one bit each. Positions are dense in long ranges with large gaps between them. */
export class PositionSet {
  private readonly pages = new Map<number, Uint8Array>();

  add(position: number): void {
    const number = Math.floor(position / BITS);
    const page = this.pages.get(number) ?? new Uint8Array(BITS / 8);
    this.pages.set(number, page);
    const bit = position % BITS;
    page[bit >> 3] = (page[bit >> 3] as number) | (1 << (bit & 7));
  }

  has(position: number): boolean {
    const bit = position % BITS;
    const byte = this.pages.get(Math.floor(position / BITS))?.[bit >> 3] ?? 0;
    return (byte & (1 << (bit & 7))) !== 0;
  }
}
