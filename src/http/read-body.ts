import type { IncomingMessage } from 'node:http';

/**
 * Reads a body of at most `maxBytes`, counted as it arrives; undefined if it is larger, the rest is then discarded. Never
 * settles if the client disconnects: there is no response to send.
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    if (Number(request.headers['content-length']) > maxBytes) return resolve(undefined);
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else resolve(undefined);
    });
    request.on('end', () => {
      if (bytes <= maxBytes) resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, bytes));
    });
    request.on('error', () => {});
  });
}
