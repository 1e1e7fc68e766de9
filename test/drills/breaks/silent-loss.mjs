// An instance forgets what it has appended, so that it cannot tell what a failover lost.
import { fromBuild, mark } from './service.mjs';

const { AppendedPositions } = await fromBuild('log/appended-positions.js');
AppendedPositions.prototype.note = () => mark('silent-loss');
