import type { JobStore } from '../../jobs/job-store.js';
import type { FileRange } from './file-range.js';

/** The bytes of a part of a job's file, one chunk in memory at a time. */
export async function* readFile(store: JobStore, id: string, { start, length }: FileRange): AsyncGenerator<Buffer> {
  for (let at = start; at < start + length; ) {
    const chunk = await store.chunkAt(id, at);
    const from = at - (chunk?.start ?? 0);
    // The reader notices that bytes are missing, because the length was announced.
    if (!chunk || from >= chunk.bytes.length) throw new Error('The file was deleted while it was read');
    const part = chunk.bytes.subarray(from, from + start + length - at);
    yield part;
    at += part.length;
  }
}
