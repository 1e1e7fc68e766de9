import { Command } from '../kernel/command.js';
import type { ReceiveConversion, Received } from './receive-conversion.command.js';

/** Conversions of one sender that are stored together. The result has one entry per conversion, in the same order. */
export class ReceiveBatch extends Command<PromiseSettledResult<Received>[]> {
  constructor(readonly conversions: readonly ReceiveConversion[]) {
    super();
  }
}
