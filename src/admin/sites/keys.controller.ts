import { Body, Controller, Delete, Get, HttpStatus, NotFoundException, Param, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { IssueKey, RevokeKey, RotateKey } from '../../sites/keys/key.commands.js';
import { keyExpiry } from '../../sites/keys/key-rotation.js';
import { listKeys } from '../../sites/keys/list-keys.js';
import type { Principal } from '../../users/access.js';
import { Caller, Requires } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { Returns } from '../returns.decorator.js';
import { host, issuedKeySchema, keyRotationSchema, keySchema, listOf, newKeySchema } from '../schemas.js';
import { findSite } from './sites.controller.js';

@ApiTags('Inbound keys')
@Controller('sites/:site/keys')
export class KeysController {
  constructor(private readonly dependencies: Dependencies) {}

  @Get()
  @Requires('read')
  @ApiOperation({ summary: 'List the inbound keys of a site' })
  @Returns(listOf(keySchema), 'The keys, also revoked ones.')
  async list(@Param('site', { schema: host }) name: string) {
    return { items: await listKeys(this.dependencies, (await findSite(this.dependencies.sites, name)).host) };
  }

  @Post()
  @Requires('write')
  @ApiOperation({ summary: 'Create an inbound key' })
  @Returns(issuedKeySchema, 'The key. It is shown this once.', HttpStatus.CREATED)
  async create(
    @Param('site', { schema: host }) name: string,
    @Body({ schema: newKeySchema }) key: z.output<typeof newKeySchema>,
    @Caller() { actor }: Principal,
  ) {
    const site = await findSite(this.dependencies.sites, name);
    return this.dependencies.commands.execute(new IssueKey(actor, site.host, key.name, key.trial));
  }

  @Post(':id/rotate')
  @Requires('write')
  @ApiOperation({ summary: 'Replace an inbound key: both are accepted until the overlap ends' })
  @Returns(issuedKeySchema, 'The new key. It is shown this once.', HttpStatus.CREATED)
  async rotate(
    @Param('site', { schema: host }) name: string,
    @Param('id', { schema: z.uuid() }) id: string,
    @Body({ schema: keyRotationSchema }) { overlap }: z.output<typeof keyRotationSchema>,
    @Caller() { actor }: Principal,
  ) {
    const { postgres, commands } = this.dependencies;
    const site = await this.siteOfKey(name, id);
    return commands.execute(new RotateKey(actor, site, id, keyExpiry(postgres.clock, overlap)));
  }

  @Delete(':id')
  @Requires('write')
  @ApiOperation({ summary: 'Revoke an inbound key at once' })
  @Returns(keySchema, 'The revoked key.')
  async revoke(
    @Param('site', { schema: host }) name: string,
    @Param('id', { schema: z.uuid() }) id: string,
    @Caller() { actor }: Principal,
  ) {
    const site = await this.siteOfKey(name, id);
    await this.dependencies.commands.execute(new RevokeKey(actor, site, id));
    return (await listKeys(this.dependencies, site)).find((key) => key.id === id);
  }

  private async siteOfKey(name: string, id: string): Promise<string> {
    const site = await findSite(this.dependencies.sites, name);
    if (!site.keys.some((key) => key.id === id)) throw new NotFoundException(`${name} has no key ${id}.`);
    return site.host;
  }
}
