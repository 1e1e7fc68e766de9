import { type BatchFormat, splitBatch } from '../../http/batch-body.js';
import { MalformedBody, parseStrictJson } from '../../http/strict-json.js';
import type { Pause } from '../../kernel/turns.js';
import type { RejectionReason } from '../rejection-reason.js';
import type { BodyReading } from './inbound-field.js';
import { type InboundReading, readInboundFields } from './inbound-fields.js';

export const LINES_MAX = 1_000;

/** One conversion of a batch, or why it is not accepted. */
export type LineReading = (InboundReading & { readonly ok: true }) | LineFailure;

export interface LineFailure {
  readonly ok: false;
  readonly status: 400 | 413;
  readonly outcome: 'invalid' | 'malformed';
  readonly error: string;
  readonly reason: RejectionReason;
}

export interface ReadBatchOptions extends Omit<BodyReading, 'rawBody'> {
  readonly maxLineBytes: number;
  readonly pause: Pause;
}

/**
 * Reads the conversions of a batch, each by the rules of a single one, so that a bad one does not affect the others. Throws
 * `MalformedBody` if the body as a whole cannot be read.
 */
export async function readBatch(body: Buffer, format: BatchFormat, options: ReadBatchOptions): Promise<LineReading[]> {
  const readings: LineReading[] = [];
  for (const line of splitBatch(body, format)) {
    if (readings.length === LINES_MAX)
      throw new MalformedBody('too_many', `The body has more than ${LINES_MAX} conversions: send several batches.`);
    readings.push(readLine(line, format, readings.length, options));
    await options.pause();
  }
  if (readings.length === 0 && format === 'lines') throw new MalformedBody('empty', NO_LINE);
  return readings;
}

const NO_LINE = 'The body is empty: send one JSON object per line.';

function readLine(line: Buffer, format: BatchFormat, index: number, options: ReadBatchOptions): LineReading {
  const { maxLineBytes } = options;
  if (line.length > maxLineBytes) {
    const error = `The conversion is larger than ${maxLineBytes} bytes.`;
    return { ok: false, status: 413, outcome: 'malformed', error, reason: 'too_large' };
  }
  try {
    const reading = readInboundFields(parseStrictJson(line), { rawBody: line, ...options });
    return reading.ok ? reading : { ...reading, status: 400, outcome: 'invalid' };
  } catch (error) {
    if (!(error instanceof MalformedBody)) throw error;
    // Where one element is not JSON, neither is the array, and it is unknown where the next element begins.
    if (format === 'array' && (error.kind === 'syntax' || error.kind === 'empty'))
      throw new MalformedBody(
        'syntax',
        `The body is not valid JSON in element ${index}, counted from 0: correct it there.`,
      );
    const message = error.message.replace(/^The body/, 'The conversion');
    return { ok: false, status: 400, outcome: 'malformed', error: message, reason: error.kind };
  }
}
