import type { LoggerService } from '@nestjs/common';
import { type Logger as Pino, pino } from 'pino';
import { messageOf } from './errors.js';

/** Callers log neither personal data nor secrets; fields with these names are redacted in case one does. */
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

/** Writes one JSON object per line to standard error. Standard output is for the banner and the command line. */
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

  /** Nest passes an error object if it could not create a provider. */
  error(message: string | Error, ...rest: unknown[]): void {
    this.pino.error(fieldsOf(rest), messageOf(message));
  }

  debug(message: string, ...rest: unknown[]): void {
    this.pino.debug(fieldsOf(rest), message);
  }

  /** Nest's messages at start are useful only for debugging Nest. */
  log(message: string, ...rest: unknown[]): void {
    this.pino.debug(fieldsOf(rest), message);
  }

  fatal(message: string, ...rest: unknown[]): void {
    this.pino.fatal(fieldsOf(rest), message);
  }
}

/** Our calls pass an object of fields; Nest passes a stack trace and the name of a class. */
function fieldsOf(rest: unknown[]): object {
  const [first] = rest;
  if (typeof first === 'object' && first !== null) return first;
  return rest.length === 0 ? {} : { context: rest.map(String).join(' ') };
}
