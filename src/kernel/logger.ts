import type { LoggerService } from '@nestjs/common';
import { type Logger as Pino, pino } from 'pino';
import { messageOf } from './errors.js';

/** Nothing personal and nothing secret is handed to the log; should it ever be, these names are blotted out. */
const REDACTED = [
  'email',
  'hashed_email',
  'firstName',
  'lastName',
  'phone',
  'key',
  'secret',
  'password',
  'token',
  'authorization',
];
const REDACTED_PATHS = REDACTED.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]).concat(
  '*["x-cc-api-key"]',
  '*.*["x-cc-api-key"]',
);

/** Structured lines on standard error, one JSON object each. Standard output belongs to the banner and to the CLI. */
export class Logger implements LoggerService {
  private readonly pino: Pino;

  constructor(level: string, destination: { write(line: string): void } = pino.destination(2)) {
    this.pino = pino({ level, redact: { paths: REDACTED_PATHS, censor: '[redacted]' } }, destination);
  }

  info(message: string, fields: object = {}): void {
    this.pino.info(fields, message);
  }

  warn(message: string, ...rest: unknown[]): void {
    this.pino.warn(fieldsOf(rest), message);
  }

  /** Nest hands over an error itself where it could not make something. */
  error(message: string | Error, ...rest: unknown[]): void {
    this.pino.error(fieldsOf(rest), messageOf(message));
  }

  debug(message: string, ...rest: unknown[]): void {
    this.pino.debug(fieldsOf(rest), message);
  }

  /** Nest's own chatter at start is for those who debug Nest. */
  log(message: string, ...rest: unknown[]): void {
    this.pino.debug(fieldsOf(rest), message);
  }

  fatal(message: string, ...rest: unknown[]): void {
    this.pino.fatal(fieldsOf(rest), message);
  }
}

/** Ours are an object of fields; Nest's are a stack trace and the name of a class. */
function fieldsOf(rest: unknown[]): object {
  const [first] = rest;
  if (typeof first === 'object' && first !== null) return first;
  return rest.length === 0 ? {} : { context: rest.map(String).join(' ') };
}
