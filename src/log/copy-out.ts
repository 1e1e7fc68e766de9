import type { ClientBase, Connection, Submittable } from 'pg';

/** Hands on every row of a `COPY … TO STDOUT`, as its bytes. They are the connection's: they hold during the call. */
export function copyOut(client: ClientBase, text: string, row: (line: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(new CopyOut(text, row, (error) => (error ? reject(error) : resolve())));
  });
}

/** A query in pg's own terms: it calls these as the server's messages arrive, one for each row. */
class CopyOut implements Submittable {
  private failure: unknown;

  constructor(
    private readonly text: string,
    private readonly row: (line: Buffer) => void,
    /** Called once; by this name, because pg wraps it where a query has a time limit. */
    public callback: (error?: unknown) => void,
  ) {}

  submit(connection: Connection): void {
    connection.query(this.text);
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

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.callback(this.failure);
  }

  handleError(error: Error): void {
    this.callback(error);
  }
}
