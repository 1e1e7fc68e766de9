// Appends have no deadline: the database stores them however late they arrive.
import { mark, pg } from './service.mjs';

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function withoutDeadline(config, ...rest) {
  if (!config?.text?.includes('cc.append(') || config.values.length < 6) return query.call(this, config, ...rest);
  mark('append-deadline');
  const values = [...config.values.slice(0, 4), '-infinity', 'infinity', ...config.values.slice(6)];
  return query.call(this, { ...config, values }, ...rest);
};
