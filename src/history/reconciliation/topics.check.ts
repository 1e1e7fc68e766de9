import { usesKafka } from '../../kafka/client.js';
import { compareTopics } from '../../kafka/compare-topics.js';
import type { Check } from '../verify.js';

/** The topics contain every event that the relay has recorded as published. */
export const topicsCheck: Check = {
  name: 'topics',
  async examine({ settings, postgres }) {
    if (!usesKafka(settings)) return { ok: true, detail: 'not compared: Kafka is not configured' };
    const compared = await compareTopics(settings, postgres);
    if (!compared) return { ok: true, detail: 'nothing has been published yet' };
    const { partitions, position, violations } = compared;
    if (violations.length > 0) return { ok: false, detail: violations.join('; ') };
    return { ok: true, detail: `${partitions} partitions hold what was published, up to position ${position}` };
  },
};
