// A site leaves without waiting for its deliveries.
import { fromBuild, mark } from './service.mjs';

const { SiteMover } = await fromBuild('moves/move-site.js');
const { StartMove } = await fromBuild('sites/move.commands.js');
SiteMover.prototype.drain = async function withoutWaiting(epoch) {
  mark('no-drain');
  const { dependencies, options, host, cell } = this;
  await dependencies.commands.execute(new StartMove(options.actor, host, cell.name, epoch));
};
