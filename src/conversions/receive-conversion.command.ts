import { Command } from '@nestjs/cqrs';
import type { SiteKey } from '../sites/site.js';
import type { OpenSite } from '../sites/site-directory.js';
import type { InboundFields } from './inbound-fields.js';
import type { Receipt } from './receipt.js';

export interface Received {
  readonly conversionId: string;
  /** Of a duplicate: the one it repeats. */
  readonly firstConversionId?: string;
  readonly receipt: Receipt;
}

/** The service's own settings that count here. */
export interface ReceiveRules {
  readonly dedupWindowMs: number;
  readonly identifierTtlMs: number;
}

/** A sender's conversion, authenticated and checked, still with its raw personal values: they go no further than this. */
export class ReceiveConversion extends Command<Received> {
  constructor(
    readonly open: OpenSite,
    readonly key: SiteKey,
    readonly fields: InboundFields,
    readonly rules: ReceiveRules,
  ) {
    super();
  }
}
