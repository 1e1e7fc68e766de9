import type { Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { FirstBytes } from './first-bytes.js';

/**
 * Decompresses only the first bytes of a body, because a small body can expand to gigabytes. Undefined if the encoding is
 * unknown. Rejects if the body is corrupt, or ends early although it is complete.
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
    bytes.append(piece);
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
      // The standard requires the zlib format; some servers send raw deflate data.
      return ((body[0] ?? 0) & 0x0f) === 8 ? createInflate(options) : createInflateRaw(options);
    case 'br':
      return createBrotliDecompress(whole ? {} : { finishFlush: constants.BROTLI_OPERATION_FLUSH });
    default:
      return undefined;
  }
}
