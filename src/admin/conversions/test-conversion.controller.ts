import { randomUUID } from 'node:crypto';
import { Body, ConflictException, Controller, Post, UnprocessableEntityException } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { findDemoSandbox } from '../../app/demo-sandbox.js';
import { errorIn, localUrl, postConversion } from '../../app/post-conversion.js';
import type { Receipt } from '../../conversions/receipt.js';
import { isOnSandbox } from '../../platforms/on-sandbox.js';
import type { Site } from '../../sites/site.js';
import { Requires } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { Returns } from '../returns.decorator.js';
import { SiteParam } from '../sites/site.param.js';

const requestSchema = z
  .object({ key: z.string().min(1).max(200).meta({ description: 'An API key of the site.' }) })
  .strict();
const testSchema = z
  .object({
    conversionId: z.uuid(),
    results: z
      .record(z.string(), z.object({ ok: z.boolean(), status: z.string(), reason: z.string().optional() }))
      .meta({ description: 'By connection.' }),
  })
  .meta({ id: 'TestConversion' });

@ApiTags('Conversions')
@Controller('sites/:site/test-conversion')
export class TestConversionController {
  constructor(private readonly dependencies: Dependencies) {}

  /** It counts like any other, so it goes to no real account and in no totals. */
  @Post()
  @Requires('write')
  @ApiOperation({ summary: 'Send a purchase of a fictitious person to the service, as a sender would' })
  @Returns(testSchema, 'What became of it.')
  async send(@SiteParam() site: Site, @Body({ schema: requestSchema }) { key }: z.output<typeof requestSchema>) {
    const { settings } = this.dependencies;
    const sandboxUrl = findDemoSandbox(settings);
    const real = site.connections.find((each) => !each.disconnected && !isOnSandbox(each, sandboxUrl));
    if (real)
      throw new ConflictException(
        `${real.platform} is connected to an account, where the purchase would count. Use the test of the connection.`,
      );
    if (site.webhook?.enabled)
      throw new ConflictException(
        'The webhook of the site would receive the purchase in its totals. Disable it first.',
      );
    if (settings.tlsCert !== undefined)
      throw new ConflictException('The service accepts https only: send the conversion with curl.');
    const { status, id, text } = await postConversion({
      ...{ url: new URL(localUrl(settings)), host: site.host, key, body: samplePurchase() },
      hint: 'Is the service running on this machine?',
    });
    if (status !== 200) throw new UnprocessableEntityException(`The service answered ${status}: ${errorIn(text)}`);
    const receipt = JSON.parse(text) as Receipt;
    if ('filtered' in receipt) throw new UnprocessableEntityException('A traffic filter of the site removed it.');
    return { conversionId: id, results: 'results' in receipt ? receipt.results : {} };
  }
}

function samplePurchase(): string {
  const orderId = `TEST-${randomUUID().slice(0, 8)}`;
  return JSON.stringify({ email: 'jane@example.com', event: 'purchase', value: 129.9, currency: 'EUR', orderId });
}
