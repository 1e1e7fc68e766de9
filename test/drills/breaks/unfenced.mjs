// Outcomes may be recorded at any time, appends have no deadline, and the version of their stream is compared within a partition only.
import { fromBuild, mark, pg, replace } from './service.mjs';

const { AttemptPermit } = await fromBuild('delivery/attempt-window.js');
Object.defineProperty(AttemptPermit.prototype, 'mayRecord', { get: () => true });

const { AppendQueue } = await fromBuild('log/append/append-queue.js');
const atAnyTime = (append) =>
  function appendAtAnyTime(request) {
    return append.call(this, { ...request, notAfterMs: undefined });
  };
replace(AppendQueue.prototype, 'append', atAnyTime);

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function unfenced(config, ...rest) {
  if (!config?.text?.includes('cc.append(') || config.values.length < 6) return query.call(this, config, ...rest);
  const [batch, , noted, owned] = config.values;
  if (owned !== null) mark('unfenced');
  const values = [batch, false, noted, null, '-infinity', 'infinity', ...config.values.slice(6)];
  return query.call(this, { ...config, values }, ...rest);
};
