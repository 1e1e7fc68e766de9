import { Body, Controller, Delete, Get, HttpStatus, NotFoundException, Param, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { IssueKey, RevokeKey, RotateKey } from '../../sites/keys/key.commands.js';
import { keyExpiry } from '../../sites/keys/key-rotation.js';
import { listKeys } from '../../sites/keys/list-keys.js';
import type { Site } from '../../sites/site.js';
import type { Principal } from '../../users/access.js';
import { Caller, Requires } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { Returns } from '../returns.decorator.js';
import { issuedKeySchema, keyRotationSchema, keySchema, listOf, newKeySchema } from '../schemas.js';
import { SiteParam } from './site.param.js';

@ApiTags('Inbound keys')
@Controller('sites/:site/keys')
export class KeysController {
  constructor(private readonly dependencies: Dependencies) {}

  @Get()
  @Requires('read')
  @ApiOperation({ summary: 'List the inbound keys of a site' })
  @Returns(listOf(keySchema), 'The keys, also revoked ones.')
  async list(@SiteParam() site: Site) {
    return { items: await listKeys(this.dependencies, site.host) };
  }

  @Post()
  @Requires('write')
  @ApiOperation({ summary: 'Create an inbound key' })
  @Returns(issuedKeySchema, 'The key. It is shown this once.', HttpStatus.CREATED)
  async create(
    @SiteParam() site: Site,
    @Body({ schema: newKeySchema }) key: z.output<typeof newKeySchema>,
    @Caller() { actor }: Principal,
  ) {
    return this.dependencies.commands.execute(new IssueKey(actor, site.host, key.name, key.trial));
  }

  @Post(':id/rotate')
  @Requires('write')
  @ApiOperation({ summary: 'Replace an inbound key: both are accepted until the overlap ends' })
  @Returns(issuedKeySchema, 'The new key. It is shown this once.', HttpStatus.CREATED)
  async rotate(
    @SiteParam() site: Site,
    @Param('id', { schema: z.uuid() }) id: string,
    @Body({ schema: keyRotationSchema }) { overlap }: z.output<typeof keyRotationSchema>,
    @Caller() { actor }: Principal,
  ) {
    const { postgres, commands } = this.dependencies;
    requireKey(site, id);
    return commands.execute(new RotateKey(actor, site.host, id, keyExpiry(postgres.clock, overlap)));
  }

  @Delete(':id')
  @Requires('write')
  @ApiOperation({ summary: 'Revoke an inbound key at once' })
  @Returns(keySchema, 'The revoked key.')
  async revoke(@SiteParam() site: Site, @Param('id', { schema: z.uuid() }) id: string, @Caller() { actor }: Principal) {
    requireKey(site, id);
    await this.dependencies.commands.execute(new RevokeKey(actor, site.host, id));
    return (await listKeys(this.dependencies, site.host)).find((key) => key.id === id);
  }
}

function requireKey({ host, keys }: Site, id: string): void {
  if (!keys.some((key) => key.id === id)) throw new NotFoundException(`${host} has no key ${id}.`);
}
