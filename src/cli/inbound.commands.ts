import type { Command } from 'commander';
import type { Session } from './session.js';
import { siteCard, siteDocument } from './site-output.js';
import { commandGroup, verb } from './verb.js';

export function addInbound(program: Command, session: Session): void {
  const inbound = commandGroup(program, 'inbound', 'Whether a site takes conversions');

  verb(inbound, 'enable <host>', 'Take conversions for a site', 'inbound enable shop.example').action(
    (host: string, { json }: { json?: true }) => change(host, true, json),
  );

  verb(inbound, 'disable <host>', 'Take no more conversions for a site', 'inbound disable shop.example').action(
    (host: string, { json }: { json?: true }) => change(host, false, json),
  );

  async function change(host: string, enabled: boolean, json: boolean | undefined): Promise<void> {
    const { sites } = await session.open();
    const { host: known } = await sites.get(host);
    const site = siteDocument(await (enabled ? sites.enableInbound(known) : sites.disableInbound(known)));
    await session.output.show(json, site, () => siteCard(site));
  }
}
