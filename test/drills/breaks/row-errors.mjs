// A missing partition counts as the fault of the rows.
import { mark, pg } from './service.mjs';

const NO_PARTITION = '23514';
const BAD_VALUE = '22023';

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function blamingRows(config, ...rest) {
  const answer = query.call(this, config, ...rest);
  if (!config?.text?.includes('cc.append(')) return answer;
  return answer.catch((error) => {
    if (error.code === NO_PARTITION) {
      mark('row-errors');
      error.code = BAD_VALUE;
    }
    throw error;
  });
};
