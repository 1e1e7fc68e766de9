import type { IncomingHttpHeaders } from 'node:http';
import type { Mapping } from './mapping/mapping.js';

/** Why a delivery is not authentic. `expired`: it was signed too long ago, or its time is ahead. */
export type SignatureProblem = 'signature_missing' | 'signature' | 'expired';

/** What arrived, before anything of it is believed. */
export interface RawDelivery {
  readonly headers: IncomingHttpHeaders;
  /** The bytes that were signed. */
  readonly body: Buffer;
}

/** What an authentic delivery is about. */
export interface DeliveryHead {
  /** Selects the rules of the mapping. */
  readonly topic: string;
  /** As the sender names the delivery, for people. */
  readonly id: string | undefined;
  /**
   * Identifies the delivery. Undefined: topic and body do, because the sender signs nothing else. An id in an unsigned header does not:
   * with another one, a recorded delivery could be sent again.
   */
  readonly signedId: string | undefined;
}

/** A sender of webhooks. Pure functions and data: adding one needs its folder and a line in `sources.ts`. */
export interface Source {
  readonly name: string;
  readonly label: string;
  /** Of refusals that concern the signature. */
  readonly refusalStatus: 400 | 401;
  /** `generated`: the operator chooses the secret, so that it can be made here. `given`: the sender makes it. */
  readonly secret: 'generated' | 'given';
  /** Undefined: it is authentic. Compares in constant time. */
  verify(delivery: RawDelivery, secret: string, nowMs: number): SignatureProblem | undefined;
  /** Undefined: the body is not of this sender. */
  head(delivery: RawDelivery, json: Readonly<Record<string, unknown>>): DeliveryHead | undefined;
  /** Headers of a delivery that is made here, to try the source out. */
  sign(topic: string, body: Buffer, secret: string, nowMs: number, id: string): Readonly<Record<string, string>>;
  /** A request without a signature that the sender makes when the webhook is set up, and that has to be answered with 200. */
  isProbe?(delivery: RawDelivery): boolean;
  /** By topic. */
  readonly mapping: Mapping;
}
