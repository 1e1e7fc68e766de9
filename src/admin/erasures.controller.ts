import { Body, Controller, HttpException, HttpStatus, NotFoundException, Param, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import type { Principal } from '../users/access.js';
import { EraseSubject } from '../visitors/erase-subject.command.js';
import { Erasure } from '../visitors/erasure.js';
import { personSubject } from '../visitors/person-subject.js';
import { Caller, Requires } from './access.decorators.js';
import { Dependencies } from './dependencies.js';
import { Returns } from './returns.decorator.js';
import { host } from './schemas.js';

/** Each takes a connection of its own, and waits while a projection is rebuilt. */
const AT_ONCE_MAX = 4;

const dryRun = z.boolean().default(false).meta({ description: 'Count what would be erased, and erase nothing.' });
const newErasureSchema = z.union([
  z.object({ email: z.string().max(320), dryRun }).strict(),
  z.object({ hash: z.string().max(64).meta({ description: 'SHA-256 of the normalised address.' }), dryRun }).strict(),
]);

const erasureSchema = z
  .object({
    site: host,
    dryRun: z.boolean(),
    events: z.int().meta({ description: 'Events that lost their personal part.' }),
    identifiers: z.int(),
    claims: z.int().meta({ description: 'Dedup keys that were made from the person.' }),
  })
  .meta({ id: 'Erasure' });

@ApiTags('Erasures')
@Controller('sites/:site/erasures')
export class ErasuresController {
  private running = 0;

  constructor(
    private readonly dependencies: Dependencies,
    private readonly erasure: Erasure,
  ) {}

  @Post()
  @Requires('erase')
  @ApiOperation({
    summary: 'Erase the personal data of a person: hashes, identifiers and visits. Events and totals stay.',
  })
  @Returns(erasureSchema, 'What was erased. The person is not repeated.')
  async erase(
    @Param('site', { schema: host }) name: string,
    @Body({ schema: newErasureSchema }) { dryRun, ...person }: z.output<typeof newErasureSchema>,
    @Caller() { actor }: Principal,
  ) {
    const { sites, commands } = this.dependencies;
    // Also of a removed site, whose events stay.
    const site = (await sites.everAdded()).find((candidate) => candidate.host === name);
    if (!site) throw new NotFoundException(`There is no site ${name}.`);
    const subject = personSubject(person);
    if (this.running >= AT_ONCE_MAX)
      throw new HttpException(
        'Other erasures are being carried out. Try again in a minute.',
        HttpStatus.TOO_MANY_REQUESTS,
      );
    this.running += 1;
    try {
      const counts = dryRun
        ? await this.erasure.preview(site.host, subject)
        : await commands.execute(new EraseSubject(actor, site.host, subject));
      return { site: site.host, dryRun, ...counts };
    } finally {
      this.running -= 1;
    }
  }
}
