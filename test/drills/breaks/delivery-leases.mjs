// Every instance gets the lease of every delivery, also while another one holds it.
import { mark, pg } from './service.mjs';

const HELD = /WHERE \(l\.until < [^\n]*/;

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function withoutLeases(config, ...rest) {
  const text = typeof config === 'string' ? config : config?.text;
  if (!/INTO cc\.delivery_leases/.test(text ?? '') || !HELD.test(text)) return query.call(this, config, ...rest);
  mark('delivery-leases');
  const changed = text.replace(HELD, '');
  return query.call(this, typeof config === 'string' ? changed : { ...config, text: changed }, ...rest);
};
