// Appends are acknowledged when they are on the primary's disk: they do not wait for the standby.
import { mark, pg } from './service.mjs';

const { query } = pg.Client.prototype;
const changed = new WeakSet();
pg.Client.prototype.query = function withoutStandby(config, ...rest) {
  if (config?.text?.includes('cc.append(') && !changed.has(this)) {
    changed.add(this);
    mark('local-commit');
    void query.call(this, 'SET synchronous_commit = local').catch(() => {});
  }
  return query.call(this, config, ...rest);
};
