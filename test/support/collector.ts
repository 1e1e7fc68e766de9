import { Writable } from 'node:stream';

/** Collects the output of a command that runs in the test process. */
export class Collector extends Writable {
  text = '';

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}
