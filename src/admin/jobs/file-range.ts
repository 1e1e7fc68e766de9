/** Part of a file: the first byte, and how many. */
export interface FileRange {
  readonly start: number;
  readonly length: number;
}

/**
 * The part that a Range header asks for. Undefined: the whole file, also for a header with several ranges or in another unit,
 * which a server may ignore (RFC 9110, 14.2). `unsatisfiable` if the file has none of it.
 */
export function parseRange(header: string | undefined, size: number): FileRange | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, length };
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return undefined;
  return start >= size ? 'unsatisfiable' : { start, length: end - start + 1 };
}
