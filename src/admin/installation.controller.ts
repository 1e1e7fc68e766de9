import { Controller, Get, Inject } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { Requires } from './access.decorators.js';
import { Returns } from './returns.decorator.js';

const installationSchema = z
  .object({
    localUrl: z.string().meta({ description: 'Where conversions are accepted on the machine of the service.' }),
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
    const { port, tlsCert } = this.settings;
    return { localUrl: `http${tlsCert ? 's' : ''}://localhost:${port}` };
  }
}
