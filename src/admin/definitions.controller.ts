import { Body, Controller, Get, NotFoundException, Param, Put } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { definedPlatform, digestOf } from '../platforms/defined/compile.js';
import { parseDefinition } from '../platforms/defined/parse-definition.js';
import { definePlatform, readDefinitions, type StoredDefinition } from '../sites/definitions.js';
import type { Principal } from '../users/access.js';
import { Caller, Requires, RequiresUser } from './access/access.decorators.js';
import { Dependencies } from './dependencies.js';
import { Returns } from './returns.decorator.js';
import { connectionName, listOf, time } from './schemas.js';

const TEXT_MAX = 64 * 1024;
/** In messages, in place of the name of a file. */
const FILE = 'definition';

const storedSchema = z.object({
  name: z.string(),
  label: z.string(),
  version: z.int().meta({ description: 'Counts from 1.' }),
  digest: z.string().meta({ description: 'As in the setting `definition` of a connection that has this version.' }),
  definedAt: time,
  fields: z.array(z.object({ name: z.string(), secret: z.boolean(), required: z.boolean(), help: z.string() })),
});
const definitionSchema = storedSchema.meta({ id: 'Definition' });
const shownSchema = storedSchema
  .extend({ definition: z.record(z.string(), z.unknown()).meta({ description: 'With all defaults.' }) })
  .meta({ id: 'ShownDefinition' });

const defineSchema = z
  .object({
    definition: z.string().min(1).max(TEXT_MAX).meta({ description: 'YAML or JSON, as in a file.' }),
  })
  .strict();
const definedSchema = z
  .object({
    name: z.string(),
    version: z.int(),
    digest: z.string(),
    connections: z.int().meta({ description: 'Connections that use this version from now on.' }),
    kept: z
      .array(z.object({ site: z.string(), connection: connectionName, reason: z.string() }))
      .meta({ description: 'Connections that keep the version that they had, because they lack a setting.' }),
  })
  .meta({ id: 'DefinedPlatform' });

/** Platforms that are defined by data. A definition decides where connections of every site send, so that only administrators set one. */
@ApiTags('Connections')
@Controller('definitions')
export class DefinitionsController {
  constructor(private readonly dependencies: Dependencies) {}

  @Get()
  @Requires('read')
  @ApiOperation({ summary: 'List the platforms that are defined, which can be connected by their names' })
  @Returns(listOf(definitionSchema), 'The newest version of each.')
  async list() {
    const definitions = await readDefinitions(this.dependencies.log);
    return { items: [...definitions.values()].map(shown) };
  }

  @Get(':name')
  @RequiresUser('administer')
  @ApiOperation({ summary: 'Show a definition, which can be defined in another installation' })
  @Returns(shownSchema, 'The newest version.')
  async show(@Param('name', { schema: z.string().max(64) }) name: string) {
    const found = (await readDefinitions(this.dependencies.log)).get(name);
    if (!found) throw new NotFoundException(`There is no definition "${name}".`);
    return { ...shown(found), definition: JSON.parse(found.text) as Record<string, unknown> };
  }

  @Put()
  @RequiresUser('administer')
  @ApiOperation({ summary: 'Define a platform, or the next version of it, which its connections follow' })
  @Returns(definedSchema, 'The version that is in force.')
  define(
    @Body({ schema: defineSchema }) { definition }: z.output<typeof defineSchema>,
    @Caller() { actor }: Principal,
  ) {
    return definePlatform(this.dependencies, actor, parseDefinition(definition, FILE));
  }
}

function shown({ name, version, text, definedAt }: StoredDefinition) {
  const { label = name, fields = [] } = definedPlatform(text) ?? {};
  return {
    ...{ name, label, version, digest: digestOf(text), definedAt },
    fields: fields.map(({ name, secret = false, required = false, help }) => ({ name, secret, required, help })),
  };
}
