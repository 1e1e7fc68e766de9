import { usesKafka } from '../../kafka/kafka-settings.js';
import { counted } from '../../kernel/counted.js';
import type { Check } from '../verify.js';
import { Violations } from './violations.js';

/** The topics contain every event that the relay has recorded as published. */
export const topicsCheck: Check = {
  name: 'topics',
  async examine({ settings, postgres }) {
    if (!usesKafka(settings)) return { ok: true, detail: 'not compared: Kafka is not configured' };
    const { compareTopics } = await import('../../kafka/compare-topics.js');
    const compared = await compareTopics(settings, postgres);
    if (!compared) return { ok: true, detail: 'nothing has been published yet' };
    const { partitions, position, violations } = compared;
    if (violations.length > 0) return { ok: false, detail: violations.join('; ') };
    return {
      ok: true,
      detail: `${counted(partitions, 'partition holds', 'partitions hold')} what was published, up to position ${position}`,
    };
  },
};

/** Every record on the topics equals the event of the log at its position, and every published event is on its topic, once and in order. */
export const recordsCheck: Check = {
  name: 'records',
  async examine({ settings, postgres, progress }) {
    if (!usesKafka(settings)) return { ok: true, detail: 'not compared: Kafka is not configured' };
    const violations = new Violations();
    const { compareRecords } = await import('../../kafka/compare-records.js');
    const compared = await compareRecords(
      settings,
      postgres,
      (violation) => violations.add(violation),
      (records) => progress(`records: ${records} read`),
    );
    if (!compared) return { ok: true, detail: 'nothing has been published yet' };
    const { records, position, lost, truncated } = compared;
    const also = [
      ...(lost > 0
        ? [`${lost} ${lost === 1 ? 'is' : 'are'} of events that this database lost in a restore or failover`]
        : []),
      ...(truncated > 0 ? [`Kafka has deleted the oldest records of ${counted(truncated, 'partition')}`] : []),
    ];
    return violations.findingOfLog(
      [`${counted(records, 'record')} compared with the log, published up to position ${position}`, ...also].join('; '),
    );
  },
};
