import type { SourceDelivery, StoredDelivery } from '../events/conversion.events.js';
import { Command } from '../kernel/command.js';
import { traceFields } from '../kernel/traceparent.js';
import type { SiteKey } from '../sites/site.js';
import type { LoadedSite } from '../sites/site-directory.js';
import type { TraceSpan } from '../tracing/tracing.js';
import type { InboundFields } from './inbound/inbound-field.js';
import type { Receipt } from './receipt.js';

export interface Received {
  readonly conversionId: string;
  /** The conversion that a duplicate repeats. */
  readonly firstConversionId?: string;
  readonly receipt: Receipt;
  /** It corrects another conversion, and is not counted as one. */
  readonly correction?: true;
  /** For the sender, one text for each fault. */
  readonly warnings?: readonly string[];
}

/** Settings of the service that the decision depends on. */
export interface ReceiveRules {
  readonly dedupWindowMs: number;
  readonly identifierTtlMs: number;
}

/** Place of the request in the sender's trace, and its own span while a collector is configured. */
export interface RequestTrace {
  readonly traceparent: string | undefined;
  readonly span: TraceSpan | undefined;
}

export function traceFieldsOf(trace: RequestTrace | undefined): object {
  return traceFields(trace?.span?.traceparent ?? trace?.traceparent);
}

/** The webhook that a conversion is made of. */
export interface ConversionDelivery {
  /** Derived from the order, or from the delivery: the conversion is stored once, however often it is sent. */
  readonly conversionId: string;
  readonly data: SourceDelivery;
  readonly personal: StoredDelivery;
  /**
   * Of a delivery that was stored: the head of the log before it was read. The conversion is refused with `DeliveryOutdated` if the
   * person may have been erased since: it must not bring back what an erasure has deleted.
   */
  readonly readAt?: number | undefined;
}

export class DeliveryOutdated extends Error {
  override readonly name = 'DeliveryOutdated';

  constructor() {
    super('The log has something newer about the person');
  }
}

/** A sender's conversion, authenticated and validated. It holds raw personal values; the handler passes on only their hashes. */
export class ReceiveConversion extends Command<Received> {
  constructor(
    readonly loadedSite: LoadedSite,
    readonly key: SiteKey,
    readonly fields: InboundFields,
    readonly rules: ReceiveRules,
    /** Absent if the request is not traced. */
    readonly trace?: RequestTrace,
    /** Absent if the sender posted the conversion itself. */
    readonly delivery?: ConversionDelivery,
  ) {
    super();
  }
}

/** The log has a conversion with the id that was derived for this one. */
export class ConversionKnown extends Error {
  override readonly name = 'ConversionKnown';

  constructor(readonly conversionId: string) {
    super('The conversion is stored');
  }
}

/** Conversions of one sender that are stored together. The result has one entry per conversion, in the same order. */
export class ReceiveBatch extends Command<PromiseSettledResult<Received>[]> {
  constructor(readonly conversions: readonly ReceiveConversion[]) {
    super();
  }
}
