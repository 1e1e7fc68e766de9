import type { Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { FirstBytes } from './first-bytes.js';

/**
 * The first bytes of a compressed body, which stops being decompressed there: a small body may stand for gigabytes.
 * Undefined when the encoding is unknown. Rejects when the body is broken, or ends too early although it is whole.
 */
export async function decompress(
  body: Buffer,
  encoding: string,
  options: { readonly whole: boolean; readonly maxBytes: number },
): Promise<FirstBytes | undefined> {
  const bytes = new FirstBytes(options.maxBytes);
  if (body.length === 0) return bytes;
  const stream = decompressorOf(body, encoding, options.whole);
  if (!stream) return undefined;
  stream.end(body);
  for await (const piece of stream) {
    bytes.take(piece);
    if (bytes.cut) break;
  }
  return bytes;
}

function decompressorOf(body: Buffer, encoding: string, whole: boolean): Transform | undefined {
  const options = whole ? {} : { finishFlush: constants.Z_SYNC_FLUSH };
  switch (encoding.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip(options);
    case 'deflate':
      // The standard means zlib's format; some servers send what is inside of it alone.
      return ((body[0] ?? 0) & 0x0f) === 8 ? createInflate(options) : createInflateRaw(options);
    case 'br':
      return createBrotliDecompress(whole ? {} : { finishFlush: constants.BROTLI_OPERATION_FLUSH });
    default:
      return undefined;
  }
}
