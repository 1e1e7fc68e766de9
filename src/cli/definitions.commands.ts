import { readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { UserError } from '../kernel/errors.js';
import { definedPlatform, digestOf } from '../platforms/defined/compile.js';
import { parseDefinition } from '../platforms/defined/parse-definition.js';
import { shippedDefinition } from '../platforms/defined/shipped.js';
import { platformDocument } from '../sites/connections/connection-document.js';
import { definePlatform, isDefinedAs, readDefinitions, type StoredDefinition } from '../sites/definitions.js';
import { CLI_ACTOR } from './cli-actor.js';
import { card } from './output/table.js';
import type { Session } from './session.js';
import { subcommand } from './subcommand.js';

export function addDefinitions(platforms: Command, session: Session): void {
  const { output } = session;

  subcommand(
    platforms,
    'define <file>',
    'Make an HTTP API a platform by a definition: a YAML or JSON file, or the name of one that is shipped',
    'platforms define crm.yaml',
  )
    .option('--dry-run', 'check the definition without storing it')
    .action(async (file: string, { dryRun, json }: { dryRun?: true; json?: true }) => {
      const platform = parseDefinition(readDefinition(file), file);
      const { name, definition = '', fields } = platform;
      if (dryRun) {
        const checked = { name, digest: digestOf(definition), dryRun, fields: platformDocument(platform).fields };
        return output.show(json, checked, () =>
          card({ name, digest: checked.digest, fields: fields.map((each) => each.name) }),
        );
      }
      const { log, sites, commands } = await session.openWithAnyKey();
      const defined = await definePlatform({ log, sites, commands }, CLI_ACTOR, platform);
      const { kept, ...shown } = defined;
      await output.show(json, defined, () => card(shown));
      if (kept.length > 0) session.exitCode = 1;
      if (json) return;
      for (const { site, connection, reason } of kept)
        output.note(`${connection} of ${site} keeps the definition that it has: ${reason}`);
      output.note(`Connect it with "platforms connect ${name} --site <host>".`);
    });

  subcommand(
    platforms,
    'definitions [name]',
    'List the definitions of platforms, or show one, which can be defined again elsewhere',
    'platforms definitions crm --out crm.json',
  )
    .option('--out <file>', 'write the definition to a file')
    .action(async (name: string | undefined, { out, json }: { out?: string; json?: true }) => {
      const { log, sites } = await session.openWithAnyKey();
      const definitions = await readDefinitions(log);
      if (name !== undefined) {
        const found = definitions.get(name);
        if (!found) throw new UserError(`There is no definition "${name}". "platforms definitions" lists them.`);
        const text = `${JSON.stringify(JSON.parse(found.text), null, 2)}\n`;
        if (out !== undefined) writeFileSync(out, text);
        const document = { ...shownDefinition(found), definition: JSON.parse(found.text) as unknown };
        return output.show(json, document, () => (out === undefined ? text : card(shownDefinition(found))));
      }
      const connections = (await sites.all()).flatMap((site) => site.connections);
      const list = [...definitions.values()].map((definition) => ({
        ...shownDefinition(definition),
        connections: connections.filter((connection) => isDefinedAs(definition.name, connection)).length,
      }));
      await output.showTable(json, list, {
        NAME: (each) => each.name,
        VERSION: (each) => each.version,
        DIGEST: (each) => each.digest,
        DEFINED: (each) => each.definedAt,
        CONNECTIONS: (each) => each.connections,
        SETTINGS: ({ fields }) => fields.map((field) => field.name),
      });
    });
}

function shownDefinition({ name, version, text, definedAt }: StoredDefinition) {
  const platform = definedPlatform(text);
  const fields = platform ? platformDocument(platform).fields : [];
  return { name, version, digest: digestOf(text), definedAt, fields };
}

function readDefinition(file: string): string {
  const shipped = shippedDefinition(file);
  if (shipped !== undefined) return shipped;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
}
