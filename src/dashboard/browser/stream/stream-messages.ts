/** A message of a stream of server-sent events. */
interface StreamMessage {
  readonly event: string | undefined;
  /** The position in the log up to which the stream is read. */
  readonly id: number | undefined;
  readonly data: string | undefined;
}

/** Reads messages from text that arrives in pieces. Only what the service sends: lines end in `\n`, one line of data each. */
export class StreamMessages {
  private rest = '';

  read(text: string): StreamMessage[] {
    const parts = (this.rest + text).split('\n\n');
    this.rest = parts.pop() as string;
    return parts.map(readMessage);
  }
}

function readMessage(lines: string): StreamMessage {
  const id = fieldOf(lines, 'id');
  return {
    event: fieldOf(lines, 'event'),
    id: id === undefined ? undefined : Number(id),
    data: fieldOf(lines, 'data'),
  };
}

function fieldOf(lines: string, name: string): string | undefined {
  const prefix = `${name}: `;
  const line = lines.split('\n').find((candidate) => candidate.startsWith(prefix));
  return line?.slice(prefix.length);
}
