import type { StoredEvent } from './event.js';

/** In this order `EventRow` finds them. `personal`: how much of what is beside the event; without `all`, whose it is. */
export function rowColumns(personal: 'all' | 'subject'): string {
  return `e.position, e.id, e.category, e.stream, e.version, e.type, e.site,
    (extract(epoch FROM e.time) * 1000)::bigint, e.actor, e.data,
    p.position IS NOT NULL, encode(p.subject, 'hex'), ${personal === 'all' ? 'p.data' : 'NULL'}`;
}

const NOTHING = '\\N';

/** An event on its way out of the log. It can be had whole, or as a line of JSON without being parsed on the way. */
export interface LoggedRow {
  readonly position: number;
  readonly type: string;
  event(): StoredEvent;
  writeLine(lines: LineBuffer): void;
}

/** One row as `COPY` sends it: valid while it is handed over, then the next one stands in its place. */
export class EventRow implements LoggedRow {
  /** Cut apart in one go: to take each field from the bytes would cost several times as much. */
  private fields: string[] = [];

  at(line: Buffer): this {
    this.fields = line.toString('utf8', 0, line.length - 1).split('\t');
    return this;
  }

  get position(): number {
    return Number(this.fields[0]);
  }

  get type(): string {
    return this.fields[5] as string;
  }

  get site(): string {
    return plain(this.fields[6] as string);
  }

  get time(): string {
    return isoTime(this.fields[7] as string);
  }

  /** Without the category. */
  get streamId(): string {
    return this.fields[3] as string;
  }

  data(): Record<string, unknown> {
    return JSON.parse(plain(this.fields[9] as string));
  }

  /** Whose it is; undefined where it is nobody's, or erased. The rest of what is personal need not be parsed for it. */
  get subject(): string | undefined {
    const subject = this.fields[11] as string;
    return subject === NOTHING ? undefined : subject;
  }

  event(): StoredEvent {
    const [position, id, category, stream, version, type, site, time, actor, data, beside, subject, personal] = this
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
      data: JSON.parse(plain(data)),
      personal: beside === 't' ? personalOf(subject, personal) : null,
    } as StoredEvent;
  }

  /** What `JSON.stringify` would make of the event, but for blanks and the spelling of numbers: as they were stored. */
  writeLine(lines: LineBuffer): void {
    const [position, id, category, stream, version, type, site, time, actor, data, beside, subject, personal] = this
      .fields as Fields;
    const told = beside === 't' ? withSubject(subject, plain(personal)) : 'null';
    const said = plain(data);
    // Blanks between its parts may be line breaks: such a text is spelled anew.
    if (told === undefined || said.includes('\n')) lines.text(`${JSON.stringify(this.event())}\n`);
    else
      lines.text(
        `{"position":${position},"id":"${id}","type":"${type}","stream":"${category}-${stream}","version":${version},` +
          `"site":${quotedSite(site)},"time":"${isoTime(time)}","actor":${quotedActor(actor)},` +
          `"data":${said},"personal":${told}}\n`,
      );
  }
}

type Fields = [...string[]] & Record<0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12, string>;

const ESCAPED: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** As it was before `COPY` put backslashes into it. */
function plain(field: string): string {
  return field.includes('\\')
    ? field.replace(/\\(.)/g, (_, character: string) => ESCAPED[character] ?? character)
    : field;
}

function personalOf(subject: string, data: string): object {
  const parsed = data === NOTHING ? {} : JSON.parse(plain(data));
  return subject === NOTHING ? parsed : { subject, ...parsed };
}

/** The stored text with the subject put in front; undefined where it is not made like that. */
function withSubject(subject: string, data: string): string | undefined {
  if (subject === NOTHING || !data.startsWith('{"') || data.includes('\n')) return undefined;
  return `{"subject":"${subject}",${data.slice(1)}`;
}

/** Of one after the other, many are the same as the one before: that one is not made again. */
function remembering<Of extends string | number>(make: (of: Of) => string): (of: Of) => string {
  let known: Of | undefined;
  let made = '';
  return (of) => {
    if (of !== known) {
      known = of;
      made = make(of);
    }
    return made;
  };
}

const MINUTE_MS = 60_000;
const untilTheSeconds = remembering((ms: number) => new Date(ms).toISOString().slice(0, -7));

/** Spelled anew within the minute only: what reads millions of events would spend a fifth of its time on their times. */
function isoTime(text: string): string {
  const ms = Number(text);
  const withinMinute = ms % MINUTE_MS;
  const digits = String(100_000 + withinMinute);
  return `${untilTheSeconds(ms - withinMinute)}${digits.slice(1, 3)}.${digits.slice(3)}Z`;
}

const quotedSite = remembering((text: string) => JSON.stringify(plain(text)));
const quotedActor = remembering((text: string) => JSON.stringify(plain(text)));

/** Text that grows and is then taken as bytes. It has two buffers: the one that was taken stays as it is until the next take. */
export class LineBuffer {
  private buffer = Buffer.allocUnsafeSlow(1024 * 1024);
  private spare = Buffer.allocUnsafeSlow(1024 * 1024);
  private length = 0;

  text(text: string): void {
    // A character of UTF-16 takes three bytes at most.
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
