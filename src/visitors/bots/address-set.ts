import ipaddr from 'ipaddr.js';
import type { AddressRange } from '../../kernel/addresses.js';

/** An address in hexadecimal: 8 digits for IPv4, 32 for IPv6. Keys of the same length compare as text. */
type AddressKey = string;

interface Span {
  readonly first: AddressKey;
  last: AddressKey;
}

/** A set of address ranges, sorted once; a lookup is a binary search, so thousands of ranges stay cheap. */
export class AddressSet {
  private readonly v4: readonly Span[];
  private readonly v6: readonly Span[];

  constructor(ranges: readonly AddressRange[]) {
    const spans = ranges.map(spanOf);
    this.v4 = merged(spans.filter(({ first }) => first.length === 8));
    this.v6 = merged(spans.filter(({ first }) => first.length === 32));
  }

  has(key: AddressKey): boolean {
    const spans = key.length === 8 ? this.v4 : this.v6;
    let [low, high] = [0, spans.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((spans[middle] as Span).first <= key) low = middle + 1;
      else high = middle;
    }
    // Spans do not overlap, so only the last one that begins at or before the key can contain it.
    const span = spans[low - 1];
    return span !== undefined && key <= span.last;
  }
}

/** IPv4-mapped IPv6 addresses become IPv4. Undefined when the text is not an address. */
export function addressKey(text: unknown): AddressKey | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    // Not `isValid` first: that would parse the address twice, and parsing is half the cost of a score.
    return hex(ipaddr.process(text).toByteArray());
  } catch {
    return undefined;
  }
}

function spanOf([base, bits]: AddressRange): Span {
  if (base instanceof ipaddr.IPv6 && base.isIPv4MappedAddress() && bits >= 96) {
    return spanOf([base.toIPv4Address(), bits - 96]);
  }
  const bytes = base.toByteArray();
  const masked = (fill: 0 | 255) =>
    bytes.map((byte, at) => {
      const prefixBits = Math.min(8, Math.max(0, bits - at * 8));
      const mask = (0xff00 >> prefixBits) & 0xff;
      return (byte & mask) | (fill & ~mask & 0xff);
    });
  return { first: hex(masked(0)), last: hex(masked(255)) };
}

/** Sorted, without overlaps. */
function merged(spans: readonly Span[]): Span[] {
  const result: Span[] = [];
  for (const span of [...spans].sort((one, other) => (one.first < other.first ? -1 : 1))) {
    const before = result.at(-1);
    if (!before || before.last < span.first) result.push({ ...span });
    else if (before.last < span.last) before.last = span.last;
  }
  return result;
}

const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function hex(bytes: readonly number[]): string {
  let text = '';
  for (const byte of bytes) text += DIGITS[byte];
  return text;
}
