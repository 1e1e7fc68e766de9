import { Controller, Get, Inject } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { findDemoSandbox } from '../app/demo-sandbox.js';
import { localUrl } from '../app/post-conversion.js';
import { formatDuration } from '../kernel/durations.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { Requires } from './access/access.decorators.js';
import { Returns } from './returns.decorator.js';

const installationSchema = z
  .object({
    localUrl: z.string().meta({ description: 'Where conversions are accepted on the machine of the service.' }),
    sandboxUrl: z.string().optional().meta({
      description: 'The sandbox that stands in for the platforms, on the same machine. It shows what it received.',
    }),
    cells: z.array(z.string()).meta({ description: 'Names of the other cells that this one knows: CELLS.' }),
    pushEverySeconds: z.number().meta({ description: 'How often totals are pushed to webhooks: OUTBOUND_EVERY.' }),
    retention: z
      .object({
        events: z.string().optional().meta({ description: 'Without it, events are kept forever.' }),
        personalParts: z.string().optional().meta({ description: 'Without it, they are kept as long as the events.' }),
        identifiers: z.string().meta({ description: 'Click ids and visits of known people.' }),
        unidentifiedVisits: z.string().meta({ description: 'The personal part of visits without an email address.' }),
        topics: z.string().optional().meta({ description: 'Events on Kafka topics, if there are brokers.' }),
      })
      .meta({
        description:
          'How long data is stored, as LOG_RETENTION, PERSONAL_RETENTION, IDENTIFIER_TTL and others set it: 90d, 24h.',
      }),
  })
  .meta({ id: 'Installation' });

@ApiTags('Installation')
@Controller('installation')
export class InstallationController {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  @Get()
  @Requires('read')
  @ApiOperation({ summary: 'Show what concerns the whole installation' })
  @Returns(installationSchema, 'The installation.')
  show() {
    const { logRetentionMs, identifierTtlMs, unidentifiedTtlMs, kafkaBrokers, kafkaRetentionMs } = this.settings;
    const { outboundEveryMs, personalRetentionMs } = this.settings;
    return {
      localUrl: localUrl(this.settings),
      sandboxUrl: findDemoSandbox(this.settings),
      cells: this.settings.otherCells.map(({ name }) => name),
      pushEverySeconds: outboundEveryMs / 1_000,
      retention: {
        events: logRetentionMs === undefined ? undefined : formatDuration(logRetentionMs),
        personalParts: personalRetentionMs === undefined ? undefined : formatDuration(personalRetentionMs),
        identifiers: formatDuration(identifierTtlMs),
        unidentifiedVisits: formatDuration(unidentifiedTtlMs),
        topics: kafkaBrokers === undefined ? undefined : formatDuration(kafkaRetentionMs),
      },
    };
  }
}
