// Appends are acknowledged before they are on disk.
import { mark, pg } from './service.mjs';

const { query } = pg.Client.prototype;
const changed = new WeakSet();
pg.Client.prototype.query = function withoutFlush(config, ...rest) {
  if (config?.text?.includes('cc.append(') && !changed.has(this)) {
    changed.add(this);
    mark('async-commit');
    void query.call(this, 'SET synchronous_commit = off').catch(() => {});
  }
  return query.call(this, config, ...rest);
};
