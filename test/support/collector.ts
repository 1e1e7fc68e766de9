import { Writable } from 'node:stream';

/** Where the command line writes to, when it runs in the test's own process. */
export class Collector extends Writable {
  text = '';

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}
