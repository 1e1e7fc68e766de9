import { nameOfSubject } from '../events/person-keys.js';
import type { StoredEvent } from './event.js';

/** The columns in the order that `EventRow` expects. `personal`: the whole personal part, or only the subject. */
export function rowColumns(personal: 'all' | 'subject'): string {
  return `e.position, e.id, e.category, e.stream, e.version, e.type, e.site,
    (extract(epoch FROM e.time) * 1000)::bigint, e.actor, e.data,
    p.position IS NOT NULL, encode(p.subject, 'hex'), ${personal === 'all' ? 'p.data' : 'NULL'}`;
}

export const NULL = '\\N';

/** A row of the log, available as a parsed event or as a line of JSON that is never parsed. */
export interface LoggedRow {
  readonly position: number;
  readonly type: string;
  /** JSON. */
  readonly dataText: string;
  event(): StoredEvent;
  writeLine(lines: LineBuffer): void;
}

/** One row in COPY text format. The instance is reused: it is valid until the next row. */
export class EventRow implements LoggedRow {
  /** Split at once: decoding each field from the bytes separately would cost several times as much. */
  fields: readonly string[] = [];
  /** Size of the row as the database sent it. */
  bytes = 0;

  at(line: Buffer): this {
    this.bytes = line.length;
    this.fields = line.toString('utf8', 0, line.length - 1).split('\t');
    return this;
  }

  get position(): number {
    return Number(this.fields[0]);
  }

  get type(): string {
    return this.fields[5] as string;
  }

  get version(): number {
    return Number(this.fields[4]);
  }

  get site(): string {
    return plain(this.fields[6] as string);
  }

  get time(): string {
    return isoTime(this.fields[7] as string);
  }

  get timeMs(): number {
    return Number(this.fields[7]);
  }

  get category(): string {
    return this.fields[2] as string;
  }

  get actor(): string {
    return plain(this.fields[8] as string);
  }

  /** Without the category. */
  get streamId(): string {
    return this.fields[3] as string;
  }

  get dataText(): string {
    return plain(this.fields[9] as string);
  }

  data(): StoredEvent['data'] {
    return JSON.parse(this.dataText);
  }

  /** Undefined if the event has no subject or was erased. Does not parse the rest of the personal part. */
  get subject(): string | undefined {
    const subject = this.fields[11] as string;
    return subject === NULL ? undefined : subject;
  }

  /** Null if the event has none or was erased. */
  personal(): object | null {
    const [beside, subject, personal] = this.fields.slice(10, 13) as [string, string, string];
    return beside === 't' ? personalOf(subject, personal) : null;
  }

  event(): StoredEvent {
    const [position, id, category, stream, version, type, site, time, actor, , beside, subject, personal] = this
      .fields as Fields;
    return {
      position: Number(position),
      id,
      type,
      stream: `${category}-${stream}`,
      version: Number(version),
      site: plain(site),
      time: isoTime(time),
      actor: plain(actor),
      data: this.data(),
      personal: beside === 't' ? personalOf(subject, personal) : null,
    } as StoredEvent;
  }

  /** Equals `JSON.stringify(event)` except for whitespace and number formats, which stay as stored. */
  writeLine(lines: LineBuffer): void {
    const [position, id, category, stream, version, type, site, time, actor, data, beside, subject, personal] = this
      .fields as Fields;
    const personalJson = beside === 't' ? withSubject(subject, plain(personal)) : 'null';
    const dataJson = plain(data);
    // The stored JSON may contain line breaks: then it is serialised again.
    if (personalJson === undefined || dataJson.includes('\n')) lines.text(`${JSON.stringify(this.event())}\n`);
    else
      lines.text(
        `{"position":${position},"id":"${id}","type":"${type}","stream":"${category}-${stream}","version":${version},` +
          `"site":${quotedSite(site)},"time":"${isoTime(time)}","actor":${quotedActor(actor)},` +
          `"data":${dataJson},"personal":${personalJson}}\n`,
      );
  }
}

type Fields = [...string[]] & Record<0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12, string>;

const ESCAPED: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** Removes the backslash escapes of COPY. */
export function plain(field: string): string {
  return field.includes('\\')
    ? field.replace(/\\(.)/g, (_, character: string) => ESCAPED[character] ?? character)
    : field;
}

function personalOf(subject: string, data: string): object {
  const parsed = data === NULL ? {} : JSON.parse(plain(data));
  return subject === NULL ? parsed : { [nameOfSubject(subject)]: subject, ...parsed };
}

/** The stored JSON with the subject added; undefined if it cannot be added textually. */
function withSubject(subject: string, data: string): string | undefined {
  if (subject === NULL || !data.startsWith('{"') || data.includes('\n')) return undefined;
  return `{"${nameOfSubject(subject)}":"${subject}",${data.slice(1)}`;
}

/** Caches the last result: consecutive rows often have the same value. */
function memoiseLast<Of extends string | number>(make: (of: Of) => string): (of: Of) => string {
  let lastInput: Of | undefined;
  let lastResult = '';
  return (of) => {
    if (of !== lastInput) {
      lastInput = of;
      lastResult = make(of);
    }
    return lastResult;
  };
}

const MINUTE_MS = 60_000;
const dateAndMinute = memoiseLast((ms: number) => new Date(ms).toISOString().slice(0, -7));

/** Formats only the seconds anew. Formatting whole times would take a fifth of the time of reading millions of events. */
function isoTime(text: string): string {
  const ms = Number(text);
  const withinMinute = ms % MINUTE_MS;
  const digits = String(100_000 + withinMinute);
  return `${dateAndMinute(ms - withinMinute)}${digits.slice(1, 3)}.${digits.slice(3)}Z`;
}

const quotedSite = memoiseLast((text: string) => JSON.stringify(plain(text)));
const quotedActor = memoiseLast((text: string) => JSON.stringify(plain(text)));

/** A growing buffer of text. It alternates between two buffers: a taken one stays valid until the next `take`. */
export class LineBuffer {
  private buffer = Buffer.allocUnsafeSlow(1024 * 1024);
  private spare = Buffer.allocUnsafeSlow(1024 * 1024);
  private length = 0;

  text(text: string): void {
    // A UTF-16 code unit takes at most three bytes in UTF-8.
    this.makeRoom(text.length * 3);
    this.length += this.buffer.write(text, this.length);
  }

  take(): Buffer {
    const taken = this.buffer.subarray(0, this.length);
    [this.buffer, this.spare] = [this.spare, this.buffer];
    this.length = 0;
    return taken;
  }

  private makeRoom(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.buffer.length * 2, this.length + bytes));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }
}
