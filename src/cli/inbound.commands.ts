import type { Command } from 'commander';
import { DisableInbound, EnableInbound } from '../sites/site.commands.js';
import { siteDocument } from '../sites/site-document.js';
import { CLI_ACTOR } from './cli-actor.js';
import { siteCard } from './output/site-output.js';
import type { Session } from './session.js';
import { commandGroup, subcommand } from './subcommand.js';

export function addInbound(program: Command, session: Session): void {
  const inbound = commandGroup(program, 'inbound', 'Switch the inbound endpoint of a site on or off');

  subcommand(inbound, 'enable <host>', 'Accept conversions for a site', 'inbound enable shop.example').action(
    (host: string, { json }: { json?: true }) => change(host, EnableInbound, json),
  );

  subcommand(inbound, 'disable <host>', 'Reject conversions for a site', 'inbound disable shop.example').action(
    (host: string, { json }: { json?: true }) => change(host, DisableInbound, json),
  );

  async function change(
    hostOrAlias: string,
    InboundCommand: typeof EnableInbound | typeof DisableInbound,
    json: boolean | undefined,
  ): Promise<void> {
    const { site, commands } = await session.openSite(hostOrAlias);
    const changed = siteDocument(await commands.execute(new InboundCommand(CLI_ACTOR, site.host)));
    await session.output.show(json, changed, () => siteCard(changed));
  }
}
