import type { IncomingMessage } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { jsonAnswer } from '../../http/answer.js';
import type { BatchFormat } from '../../http/batch-body.js';
import { readBody } from '../../http/read-body.js';
import { CLOCK, type Clock } from '../../kernel/clock.js';
import { LogUnavailable, messageOf } from '../../kernel/errors.js';
import { Logger } from '../../kernel/logger.js';
import { SETTINGS, type Settings } from '../../kernel/settings/settings.js';
import { pauseBetweenTurns } from '../../kernel/turns.js';
import type { LoadedSite } from '../../sites/site-directory.js';
import { correctionProblem } from '../correction.js';
import { ReceiveBatch, ReceiveConversion, type Received, traceFieldsOf } from '../receive-conversion.command.js';
import { Rejections } from '../rejections.js';
import { BatchSlots } from './batch-slots.js';
import {
  type Caller,
  type CountedAnswer,
  INTERNAL_ERROR_TEXT,
  NOT_A_BATCH,
  TOO_MANY_BATCHES,
  tooLarge,
  UNAVAILABLE_TEXT,
} from './inbound-answers.js';
import { siteReading } from './inbound-field.js';
import { InboundMetrics, outcomeOf } from './inbound-metrics.js';
import { batchFormatOf } from './inbound-route.js';
import { type LineReading, readBatch } from './read-batch.js';

/** `POST /__cc/inbound/batch`: many conversions, each answered as if it had been sent alone, with its status. */
@Injectable()
export class InboundBatch {
  private readonly slots = new BatchSlots();
  private readonly tooLarge: CountedAnswer;

  constructor(
    private readonly commands: CommandBus,
    private readonly metrics: InboundMetrics,
    private readonly rejections: Rejections,
    private readonly logger: Logger,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.tooLarge = tooLarge(settings.maxBatchBytes, 'Send several batches.');
  }

  /** `callerNow`: the sender, or its refusal, once the body has arrived. */
  async answer(
    request: IncomingMessage,
    caller: Caller,
    callerNow: () => Promise<Caller | CountedAnswer>,
  ): Promise<CountedAnswer> {
    const { headers } = request;
    const format = batchFormatOf(headers['content-type']);
    if (!format || headers['content-encoding'] !== undefined) return NOT_A_BATCH;
    const leave = this.slots.enter(caller.loadedSite.site.host);
    if (!leave) return TOO_MANY_BATCHES;
    // The body of a client that disconnects, or has done so while its key was checked, is never read to its end.
    let isReading = true;
    request.once('close', () => {
      if (isReading) leave();
    });
    if (request.closed) leave();
    try {
      const body = await readBody(request, this.settings.maxBatchBytes);
      isReading = false;
      if (!body) return this.tooLarge;
      const sender = await callerNow();
      return 'status' in sender ? sender : await this.receive(body, format, sender);
    } finally {
      leave();
    }
  }

  private async receive(body: Buffer, format: BatchFormat, caller: Caller): Promise<CountedAnswer> {
    const { loadedSite, key, trace } = caller;
    const { clock, settings } = this;
    const { maxBodyBytes: maxLineBytes } = settings;
    const options = { maxLineBytes, clock, pause: pauseBetweenTurns(), ...siteReading(loadedSite.site) };
    const readings = (await readBatch(body, format, options)).map((reading) => checked(reading, loadedSite));
    const conversions = readings.flatMap((reading) =>
      reading.ok ? [new ReceiveConversion(loadedSite, key, reading.fields, settings, trace)] : [],
    );
    for (const { fields } of conversions) this.metrics.countUnused(fields);
    const results = (await this.commands.execute(new ReceiveBatch(conversions))).values();
    return jsonAnswer(200, { ok: true, results: readings.map((reading) => this.entryOf(reading, results, caller)) });
  }

  /** Takes the next result if the conversion was accepted. */
  private entryOf(reading: LineReading, results: Iterator<PromiseSettledResult<Received>>, caller: Caller): object {
    if (!reading.ok) {
      const { error, status, outcome, reason } = reading;
      this.rejections.count(caller, reason);
      this.metrics.count(outcome);
      return { ok: false, error, status };
    }
    const result = results.next().value as PromiseSettledResult<Received>;
    if (result.status === 'fulfilled') {
      const { receipt, correction, ...rest } = result.value;
      this.metrics.count(outcomeOf(receipt, correction));
      return { ...receipt, status: 200, ...rest };
    }
    this.metrics.count('unavailable');
    const isUnavailable = result.reason instanceof LogUnavailable;
    if (!isUnavailable) {
      const fields = { error: messageOf(result.reason), ...traceFieldsOf(caller.trace) };
      this.logger.error('A conversion of a batch failed', fields);
    }
    const [status, error] = isUnavailable ? [503, UNAVAILABLE_TEXT] : [500, INTERNAL_ERROR_TEXT];
    return { ok: false, error, status };
  }
}

/** What depends on the connections of the site. */
function checked(reading: LineReading, site: LoadedSite): LineReading {
  const error = reading.ok ? correctionProblem(site, reading.fields) : undefined;
  return error === undefined ? reading : { ok: false, error, status: 400, outcome: 'invalid', reason: 'orderId' };
}
