import { type Command, Option } from 'commander';
import { previewPayload, receivedFor } from '../delivery/payload/preview-payload.js';
import { sampleReceived } from '../delivery/payload/sample-conversion.js';
import type { ReceivedConversion } from '../delivery/received-conversion.js';
import { requireConversion } from '../history/conversion-history.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import { settingsAfter } from '../sites/connections/named-connection.js';
import { findOptOuts } from '../visitors/find-opt-outs.js';
import { requireOrderedConversion } from './arguments/conversion-argument.js';
import { connectionArgument, NAME_HELP } from './arguments/platform-argument.js';
import { card } from './output/table.js';
import type { CliDependencies, Session } from './session.js';
import { collect, readSetting, subcommand, UsageError } from './subcommand.js';

interface PreviewOptions {
  readonly site: string;
  readonly name?: string;
  readonly order?: string;
  readonly conversion?: string;
  readonly sample?: true;
  readonly set?: string[];
  readonly json?: true;
}

export function addPreview(platforms: Command, session: Session): void {
  const { output } = session;
  subcommand(
    platforms,
    'preview <platform>',
    'Show what the platform would get for a stored conversion or a sample. Nothing is sent or stored.',
    'platforms preview meta --site shop.example --order ORD-1 --set field.plan=orderId',
  )
    .requiredOption('--site <host>', 'site that the connection belongs to')
    .option('--name <name>', NAME_HELP)
    .option('--order <orderId>', "the sender's order id")
    .addOption(new Option('--conversion <id>', 'id of the conversion').conflicts('order'))
    .addOption(
      new Option('--sample', 'a fictitious purchase with all fields, instead of a stored one').conflicts([
        'order',
        'conversion',
      ]),
    )
    .option('--set <name=value>', 'with this setting instead of the current one; may be repeated', collect)
    .action(async (argument: string, options: PreviewOptions) => {
      const { order, conversion, sample } = options;
      if ((order ?? conversion ?? sample) === undefined)
        throw new UsageError('Select a conversion with --order <orderId> or --conversion <id>, or give --sample.');
      const { site, ...dependencies } = await session.openSite(options.site);
      const target = connectionArgument(site, argument, options.name);
      const settings = settingsAfter(site, target, readChanges(options.set));
      const received = sample
        ? sampleReceived(dependencies.postgres.clock.nowMs())
        : await findReceived(dependencies, site.host, target.name, options);
      const document = {
        platform: target.name,
        ...(sample ? { sample: true } : { conversionId: received.data.conversionId }),
        ...previewPayload(received, target, settings, site.settings),
      };
      await output.show(options.json, document, () => {
        const { payload, ...facts } = { payload: undefined, ...document };
        return card(facts) + (payload === undefined ? '' : `\n${JSON.stringify(payload, null, 2)}`);
      });
    });
}

function readChanges(texts: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(texts.map((text) => readSetting('--set', 'field.plan=orderId', text)));
}

async function findReceived(
  dependencies: CliDependencies,
  host: string,
  connection: ConnectionName,
  { order, conversion }: PreviewOptions,
): Promise<ReceivedConversion> {
  const own =
    conversion === undefined
      ? await requireOrderedConversion(dependencies, host, order as string)
      : await requireConversion(dependencies.log, { host }, conversion);
  return receivedFor(dependencies.log, findOptOuts(dependencies.postgres), own, connection);
}
