/** Queries over a connection of their own, for a database that has `connect`. */
export class QueriedDatabase {
  async query(text, values) {
    const client = await this.connect();
    try {
      return (await client.query(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** The first column of the first row. */
  async value(text, values) {
    const [row] = await this.query({ text, values, rowMode: 'array' });
    return row?.[0];
  }
}
