import type { IncomingMessage } from 'node:http';

/**
 * A body of at most `maxBytes`, counted as it arrives; undefined when it is larger. What else the sender sends is then
 * thrown away unread. Never settles when the sender goes away: there is nobody left to answer.
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
