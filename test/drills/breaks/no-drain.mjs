// A site leaves without waiting for its deliveries.
import { fromBuild, mark, replace } from './service.mjs';

const { SiteMover } = await fromBuild('moves/move-site.js');
const { StartMove } = await fromBuild('sites/move.commands.js');
const withoutWaiting = () =>
  async function drain(epoch) {
    mark('no-drain');
    const { dependencies, options, host, cell } = this;
    await dependencies.commands.execute(new StartMove(options.actor, host, cell.name, epoch));
  };
replace(SiteMover.prototype, 'drain', withoutWaiting);
