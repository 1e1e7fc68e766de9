import ipaddr from 'ipaddr.js';
import type { AddressRange } from '../../kernel/addresses.js';

/** An address in hexadecimal: 8 digits for IPv4, 32 for IPv6. Those of a kind compare as text. */
type AddressKey = string;

interface Span {
  readonly first: AddressKey;
  last: AddressKey;
}

/** Many ranges of addresses, sorted once: a look-up is a binary search, so thousands of ranges cost no more than ten. */
export class AddressSet {
  private readonly v4: readonly Span[];
  private readonly v6: readonly Span[];

  constructor(ranges: readonly AddressRange[]) {
    const spans = ranges.map(spanOf);
    this.v4 = merged(spans.filter(({ first }) => first.length === 8));
    this.v6 = merged(spans.filter(({ first }) => first.length === 32));
  }

  has(key: AddressKey): boolean {
    const wanted = key.length === 8 ? this.v4 : this.v6;
    let [low, high] = [0, wanted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((wanted[middle] as Span).first <= key) low = middle + 1;
      else high = middle;
    }
    // The last one that begins before it: they do not overlap, so no other can hold it.
    const span = wanted[low - 1];
    return span !== undefined && key <= span.last;
  }
}

/** An IPv4 address written as IPv6 is the IPv4 one it is; what is no address at all is nobody's. */
export function addressKey(text: unknown): AddressKey | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    // Asking first whether it is valid would parse it twice, and that is half the cost of a judgement.
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
      const kept = Math.min(8, Math.max(0, bits - at * 8));
      const mask = (0xff00 >> kept) & 0xff;
      return (byte & mask) | (fill & ~mask & 0xff);
    });
  return { first: hex(masked(0)), last: hex(masked(255)) };
}

/** In order, without overlaps. */
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
