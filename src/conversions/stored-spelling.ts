import type { LogReads } from '../log/event-log.js';
import { storedText } from './address-digest.js';
import { findOrder } from './find-order.js';
import { ReceiveConversion } from './receive-conversion.command.js';

const OLDEST = { types: ['conversion.received.v1', 'conversion.filtered.v1'], limit: 100 };

/**
 * Before 0.3 orders and event names were stored as they were sent. A conversion of such an order keeps that form, so that its
 * repeat, its refund and its imported line are recognised.
 */
export async function withStoredSpelling(
  log: Pick<LogReads, 'find'>,
  command: ReceiveConversion,
): Promise<ReceiveConversion> {
  const { loadedSite, key, fields, rules, trace, delivery } = command;
  const { sent, orderId } = fields;
  if (!sent || orderId === undefined) return command;
  const { site, dedupSecret } = loadedSite;
  const found = await findOrder(log, site, dedupSecret, sent.orderId ?? orderId, OLDEST);
  const isStored = (name: 'event' | 'orderId') => {
    const text = sent[name];
    return text !== undefined && found.some(({ data }) => data[name] === storedText(dedupSecret, text));
  };
  const stored = {
    ...(isStored('event') && { event: sent.event }),
    ...(isStored('orderId') && { orderId: sent.orderId }),
  };
  const spelled = { ...fields, ...(stored as Partial<typeof fields>) };
  return new ReceiveConversion(loadedSite, key, spelled, rules, trace, delivery);
}
