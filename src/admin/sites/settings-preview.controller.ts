import { Body, Controller, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { previewSettings } from '../../history/settings-preview.js';
import { TooManyRequests } from '../../kernel/errors.js';
import type { Site } from '../../sites/site.js';
import { changedSettings } from '../../sites/site-settings.js';
import { loadBotList } from '../../visitors/bots/bot-list.js';
import { BotScorer } from '../../visitors/bots/bot-scorer.js';
import { Requires } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { Returns } from '../returns.decorator.js';
import { time } from '../schemas.js';
import { SiteParam } from './site.param.js';
import { settingsChangeSchema, settingsRequest } from './site-settings.schema.js';

/** Each reads up to ten thousand events. */
const RUNNING_MAX = 2;
/** About as long as one takes. */
const RETRY_AFTER_S = 4;

const compared = z.object({ was: z.int(), would: z.int() });

const previewSchema = z
  .object({
    from: time.meta({ description: 'Everything from then on was examined.' }),
    to: time,
    complete: z
      .boolean()
      .meta({ description: 'Whether that is the whole week. A large site has too much for one request.' }),
    conversions: z.object({ received: compared, deduplicated: compared, filtered: compared }),
    visits: z.object({ examined: z.int(), removed: compared }),
    consent: z.object({
      withheld: compared.meta({
        description: 'Conversions that are sent without what is known of the visit, or not at all.',
      }),
      withoutPerson: compared.meta({ description: 'Those of them of which nothing personal leaves.' }),
      notSent: compared.meta({ description: 'Those of them that are not sent to any platform.' }),
    }),
    undecided: z.int().meta({ description: 'Conversions of erased people, which cannot be decided again.' }),
    untold: z.array(z.string()).meta({
      description:
        'Changed settings whose effect on conversions cannot be told: the log has no email addresses, and only visits are scored again.',
    }),
  })
  .meta({
    id: 'SettingsPreview',
    description: 'What was recorded, and what would have been with the changed settings.',
  });

@ApiTags('Sites')
@Controller('sites/:site/settings')
export class SettingsPreviewController {
  private running = 0;
  private scorer: BotScorer | undefined;

  constructor(private readonly dependencies: Dependencies) {}

  @Post('preview')
  @Requires('write')
  @ApiOperation({ summary: 'What changed settings would have removed in the last seven days. Nothing is changed.' })
  @Returns(previewSchema, 'The effect on what was received.')
  async preview(
    @SiteParam() site: Site,
    @Body({ schema: settingsChangeSchema }) change: z.output<typeof settingsChangeSchema>,
  ) {
    if (this.running >= RUNNING_MAX)
      throw new TooManyRequests('Other previews are running. Try again in a few seconds.', RETRY_AFTER_S);
    this.running += 1;
    try {
      const { log, secrets, settings, postgres } = this.dependencies;
      this.scorer ??= new BotScorer(loadBotList(settings.botList));
      const dependencies = {
        log,
        scorer: this.scorer,
        dedupSecret: await secrets.dedupSecret(site.host),
        defaultWindowMs: settings.dedupWindowMs,
        nowMs: postgres.clock.nowMs(),
      };
      return await previewSettings(dependencies, site, changedSettings(site.settings, settingsRequest(change)));
    } finally {
      this.running -= 1;
    }
  }
}
