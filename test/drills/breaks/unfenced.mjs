// Outcomes may be recorded at any time, appends have no deadline, and the version of their stream is compared within a partition only.
import { fromBuild, mark, pg } from './service.mjs';

const { AttemptPermit } = await fromBuild('delivery/attempt-window.js');
Object.defineProperty(AttemptPermit.prototype, 'mayRecord', { get: () => true });

const { AppendQueue } = await fromBuild('log/append-queue.js');
const { append, appendAll } = AppendQueue.prototype;
const withoutDeadline = (request) => ({ ...request, notAfterMs: undefined });
AppendQueue.prototype.append = function appendAtAnyTime(request) {
  return append.call(this, withoutDeadline(request));
};
AppendQueue.prototype.appendAll = function appendAllAtAnyTime(requests) {
  return appendAll.call(this, requests.map(withoutDeadline));
};

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function unfenced(config, ...rest) {
  if (!config?.text?.includes('cc.append(') || config.values.length < 6) return query.call(this, config, ...rest);
  const [batch, , noted, owned] = config.values;
  if (owned !== null) mark('unfenced');
  const values = [batch, false, noted, null, '-infinity', 'infinity', ...config.values.slice(6)];
  return query.call(this, { ...config, values }, ...rest);
};
