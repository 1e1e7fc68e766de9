/**
 * The shard of a stream. All its events belong to one shard, which preserves their order. Uses murmur2, as Kafka clients do for
 * keys, because a shard is a Kafka partition.
 */
export function shardOf(stream: string, shards: number): number {
  return (murmur2(Buffer.from(stream)) & 0x7fffffff) % shards;
}

const SEED = 0x9747b28c;
const MIX = 0x5bd1e995;

function murmur2(bytes: Buffer): number {
  const whole = bytes.length & ~3;
  let hash = SEED ^ bytes.length;
  for (let at = 0; at < whole; at += 4) {
    let part = Math.imul(bytes.readInt32LE(at), MIX);
    part ^= part >>> 24;
    hash = Math.imul(hash, MIX) ^ Math.imul(part, MIX);
  }
  const rest = bytes.length - whole;
  if (rest > 0) {
    for (let at = rest - 1; at >= 0; at -= 1) hash ^= (bytes[whole + at] as number) << (8 * at);
    hash = Math.imul(hash, MIX);
  }
  hash ^= hash >>> 13;
  hash = Math.imul(hash, MIX);
  return hash ^ (hash >>> 15);
}
