import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * A key is `cc_`, 32 random bytes in base62, and a checksum of both. The prefix lets secret scanners find a leaked key;
 * the checksum detects a typo without a lookup.
 */
const PREFIX = 'cc_';
const SECRET_BYTES = 32;
const SECRET_LENGTH = 43; // 62^43 > 2^256
const CHECKSUM_LENGTH = 6; // 62^6 > 2^32
const CHECKSUM_START = PREFIX.length + SECRET_LENGTH;
export const API_KEY_LENGTH = CHECKSUM_START + CHECKSUM_LENGTH;
const DISPLAYED_LENGTH = 8;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export function generateApiKey(random: (size: number) => Uint8Array = randomBytes): string {
  const key = PREFIX + encodeSecret(random(SECRET_BYTES));
  return key + checksum(key);
}

/** Checks the format only; whether the key exists requires a lookup of its hash. */
export function looksLikeApiKey(text: string): boolean {
  return (
    text.length === API_KEY_LENGTH &&
    text.startsWith(PREFIX) &&
    /^[0-9A-Za-z]+$/.test(text.slice(PREFIX.length)) &&
    text.slice(CHECKSUM_START) === checksum(text.slice(0, CHECKSUM_START))
  );
}

/** The stored form of a key. 256 random bits need no slow hash. */
export function hashApiKey(key: string): string {
  return hash('sha256', key);
}

/** The part of a key that lists display: enough to recognise it, too little to guess it. */
export function apiKeyPrefix(key: string): string {
  return key.slice(0, PREFIX.length + DISPLAYED_LENGTH);
}

function checksum(text: string): string {
  let digits = '';
  for (let rest = crc32(text); digits.length < CHECKSUM_LENGTH; rest = Math.floor(rest / 62)) {
    digits = ALPHABET[rest % 62] + digits;
  }
  return digits;
}

/** Fixed width, so that every key has the same length. */
function encodeSecret(bytes: Uint8Array): string {
  let digits = '';
  for (let rest = BigInt(`0x${Buffer.from(bytes).toString('hex')}`); digits.length < SECRET_LENGTH; rest /= 62n) {
    digits = ALPHABET[Number(rest % 62n)] + digits;
  }
  return digits;
}
