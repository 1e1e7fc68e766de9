import type { OutcomeStatus } from '../../src/events/delivery.events.js';
import { nameOfSubject } from '../../src/events/person-keys.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import type { NewEvent } from '../../src/log/event.js';
import type { EventLog } from '../../src/log/event-log.js';

const KEY_ID = '01980000-0000-7000-8000-000000000000';

export interface SampleVisit {
  readonly source?: string;
  readonly campaign?: string;
  readonly click?: string;
}

/** Appends the events of conversions, as the service stores them, without its endpoints and deliveries. */
export class ConversionEvents {
  constructor(
    private readonly log: EventLog,
    private readonly site: string,
  ) {}

  /** Returns the id of the conversion. `subject`: the hash of the email, or the key of a person without one. */
  async decided(
    kind: 'received' | 'deduplicated' | 'filtered',
    subject: string,
    data: object = {},
    personal: { readonly visit?: SampleVisit; readonly phone?: string } = {},
    reference?: string,
  ): Promise<string> {
    const conversionId = uuidv7();
    const common = { conversionId, event: 'purchase', value: 10.1, currency: 'EUR', keyId: KEY_ID, trial: false };
    const further = {
      received: { platforms: ['meta', 'google_ads'], ...(personal.visit && { matched: true, consent: 'unknown' }) },
      deduplicated: { firstConversionId: uuidv7(), differs: [] },
      filtered: { reason: 'bot' },
    }[kind];
    const { visit, ...rest } = personal;
    await this.append(conversionId, {
      type: `conversion.${kind}.v1`,
      data: { ...common, ...further, ...data },
      personal: { [nameOfSubject(subject)]: subject, ...rest, ...(visit && { visit: toVisit(visit) }) } as object,
      reference,
    });
    return conversionId;
  }

  outcome(conversionId: string, status: OutcomeStatus, platform: string, data: object = {}): Promise<void> {
    const outcome = { conversionId, platform, attempt: 1, status, ...data };
    return this.append(conversionId, { type: `conversion.${status}.v1`, data: outcome });
  }

  /** A visit that was identified after the conversion. */
  reopened(conversionId: string, subject: string, visit: SampleVisit, joins?: string): Promise<void> {
    const reopening = { conversionId, platform: 'meta', attempt: 1, by: 1, consent: 'unknown', trial: false };
    return this.append(conversionId, {
      type: 'conversion.reopened.v1',
      data: { ...reopening, ...(joins !== undefined && { joins }) },
      personal: { [nameOfSubject(subject)]: subject, visit: toVisit(visit) } as object,
    });
  }

  async refused(count: number): Promise<void> {
    const data = { since: '2026-01-01T00:00:00.000Z', count, reasons: { email: count }, sample: [] };
    await this.log.append({
      ...{ category: 'inbound', stream: uuidv7(), expected: 'new', site: this.site, actor: 'system' },
      events: [{ type: 'inbound.rejected.v1', data }],
    });
  }

  private async append(stream: string, event: NewEvent): Promise<void> {
    const of = { category: 'conversion', stream, expected: 'any', site: this.site, actor: 'system' } as const;
    await this.log.append({ ...of, events: [event] });
  }
}

function toVisit({ source, campaign, click }: SampleVisit) {
  return {
    ip: '192.0.2.1',
    clicks: click === undefined ? {} : { [click]: { id: 'abc', timeMs: 1 } },
    cookies: {},
    utm: { ...(source !== undefined && { source }), ...(campaign !== undefined && { campaign }) },
  };
}
