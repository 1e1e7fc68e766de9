import fs from 'node:fs';

/** Captures everything that the services of this process log to standard error, until `stop`. */
export function captureLog(): { text(): string; stop(): void } {
  const { write } = fs;
  const texts: string[] = [];
  // pino writes to the file descriptor with fs.write; patching process.stderr would miss it.
  fs.write = ((fd: number, data: string, ...rest: unknown[]) => {
    if (fd !== 2) return (write as (...all: unknown[]) => void)(fd, data, ...rest);
    texts.push(String(data));
    const done = rest.at(-1) as (error: null, bytes: number, data: string) => void;
    setImmediate(() => done(null, Buffer.byteLength(data), data));
  }) as typeof fs.write;
  return {
    text: () => texts.join(''),
    stop: () => {
      fs.write = write;
    },
  };
}
