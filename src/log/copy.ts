import type { ClientBase, Connection, Submittable } from 'pg';

/** Passes each row of a `COPY … TO STDOUT` on as bytes. The buffer belongs to the connection and is valid during the call only. */
export function copyOut(client: ClientBase, text: string, row: (line: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(new CopyOut(text, (error) => (error ? reject(error) : resolve()), row));
  });
}

/** Feeds rows to a `COPY … FROM STDIN`, in chunks of any length. */
export function copyIn(client: ClientBase, text: string, rows: Iterable<Buffer>): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(new CopyIn(text, (error) => (error ? reject(error) : resolve()), rows));
  });
}

/** A pg `Submittable`: pg calls these methods as the server's messages arrive. */
abstract class Copy implements Submittable {
  protected failure: unknown;

  constructor(
    private readonly text: string,
    /** Called once. pg requires this name: it wraps the callback of a query that has a timeout. */
    public callback: (error?: unknown) => void,
  ) {}

  submit(connection: Connection): void {
    connection.query(this.text);
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.callback(this.failure);
  }

  handleError(error: Error): void {
    // After a timeout of pg rows may still arrive.
    this.failure = error;
    this.callback(error);
  }
}

class CopyOut extends Copy {
  constructor(
    text: string,
    callback: (error?: unknown) => void,
    private readonly row: (line: Buffer) => void,
  ) {
    super(text, callback);
  }

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    if (this.failure) return;
    try {
      this.row(chunk);
    } catch (error) {
      // Throwing here would end the process. The remaining rows are discarded, then the promise rejects.
      this.failure = error;
    }
  }
}

class CopyIn extends Copy {
  constructor(
    text: string,
    callback: (error?: unknown) => void,
    private readonly rows: Iterable<Buffer>,
  ) {
    super(text, callback);
  }

  /** pg has these two methods; its types do not. */
  handleCopyInResponse(connection: { sendCopyFromChunk(chunk: Buffer): void; endCopyFrom(): void }): void {
    for (const chunk of this.rows) connection.sendCopyFromChunk(chunk);
    connection.endCopyFrom();
  }
}
