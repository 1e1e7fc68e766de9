import type { ClientBase, Connection, Submittable } from 'pg';

/** Hands on every row of a `COPY … TO STDOUT`, as its bytes. They are the connection's: they hold during the call. */
export function copyOut(client: ClientBase, text: string, row: (line: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(new CopyOut(text, (error) => (error ? reject(error) : resolve()), row));
  });
}

/** Gives rows to a `COPY … FROM STDIN`, in pieces of any length. */
export function copyIn(client: ClientBase, text: string, rows: Iterable<Buffer>): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(new CopyIn(text, (error) => (error ? reject(error) : resolve()), rows));
  });
}

/** A query in pg's own terms: it calls these as the server's messages arrive. */
abstract class Copy implements Submittable {
  protected failure: unknown;

  constructor(
    private readonly text: string,
    /** Called once; by this name, because pg wraps it where a query has a time limit. */
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
      // Thrown here it would end the process. The rest is read and dropped, then whoever asked is told.
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

  /** pg has these two; its types do not. */
  handleCopyInResponse(connection: { sendCopyFromChunk(chunk: Buffer): void; endCopyFrom(): void }): void {
    for (const piece of this.rows) connection.sendCopyFromChunk(piece);
    connection.endCopyFrom();
  }
}
