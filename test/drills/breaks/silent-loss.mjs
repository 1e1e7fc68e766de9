// An instance forgets what it has appended, so that it cannot tell what a failover lost.
import { fromBuild, mark, replace } from './service.mjs';

const { AppendedPositions } = await fromBuild('log/append/appended-positions.js');
replace(AppendedPositions.prototype, 'note', () => () => mark('silent-loss'));
