import { Command } from '../kernel/command.js';
import type { SiteKey } from '../sites/site.js';
import type { LoadedSite } from '../sites/site-directory.js';
import type { InboundFields } from './inbound-field.js';
import type { Receipt } from './receipt.js';

export interface Received {
  readonly conversionId: string;
  /** The conversion that a duplicate repeats. */
  readonly firstConversionId?: string;
  readonly receipt: Receipt;
  /** It corrects another conversion, and is not counted as one. */
  readonly correction?: true;
  /** For the sender. */
  readonly warning?: string;
}

/** Settings of the service that the decision depends on. */
export interface ReceiveRules {
  readonly dedupWindowMs: number;
  readonly identifierTtlMs: number;
}

/** A sender's conversion, authenticated and validated. It holds raw personal values; the handler passes on only their hashes. */
export class ReceiveConversion extends Command<Received> {
  constructor(
    readonly loadedSite: LoadedSite,
    readonly key: SiteKey,
    readonly fields: InboundFields,
    readonly rules: ReceiveRules,
  ) {
    super();
  }
}
