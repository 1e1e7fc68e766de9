// A cell does not store the dedup claims of a site that moves to it.
import { mark, pg } from './service.mjs';

const STORE = 'cc.store_claims($1)';

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function withoutClaims(config, ...rest) {
  const text = typeof config === 'string' ? config : config?.text;
  if (!text?.includes(STORE)) return query.call(this, config, ...rest);
  mark('lost-claims');
  const changed = text.replace(STORE, '0 * length($1::text)');
  return query.call(this, typeof config === 'string' ? changed : { ...config, text: changed }, ...rest);
};
