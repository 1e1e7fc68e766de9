import type { DecimalMark } from './amounts.js';
import type { TimeFormat } from './local-times.js';

/** How the operator says that the file is to be read. */
export interface ReadOptions {
  /** Header of the file, by field; an empty one leaves the field out. */
  readonly map: ReadonlyMap<string, string>;
  /** Values of fields, for lines that have none. */
  readonly defaults: ReadonlyMap<string, string>;
  /** The site knows people by more than an email. */
  readonly withoutEmail?: boolean;
  readonly times: TimeFormat;
  readonly decimalMark?: DecimalMark | undefined;
}

/** A line as a body of the endpoint, or why it cannot be one. */
export type LineReading =
  | {
      readonly body: Record<string, unknown>;
      /** A time of the line has no offset. */
      readonly isZoneless?: boolean | undefined;
      /** Optional fields that cannot be read, each with the reason. A site with strict fields rejects the line. */
      readonly dropped?: readonly { readonly field: string; readonly problem: string }[];
    }
  | { readonly error: string };

/** One line of a file, before its fields are checked. */
export interface SourceLine {
  readonly reading: LineReading;
  /** For the digits of large numbers. */
  readonly rawBody: Buffer | string;
  rejected(reason: string): RejectedLine;
}

export interface RejectedLine {
  /** Number of its first line in the file that was read. */
  readonly number: number;
  readonly reason: string;
  /** The line as it stands in the file of rejected lines. */
  readonly text: string;
}

export interface LineSource {
  /** What precedes the first line in the file of rejected lines. */
  readonly rejectedHeader: string;
  /** Those of each chunk of the file: an asynchronous step for each line would cost more than reading it. */
  readonly chunks: AsyncIterable<Iterable<SourceLine>>;
}

/** Records that are longer are broken: an unclosed quote makes one of the rest of the file. */
export const LINE_MAX_BYTES = 1024 * 1024;
