// A batch counts as stored when it is sent: its sender is answered before the commit.
import { mark, pg } from './service.mjs';

const { query } = pg.Client.prototype;
const HEAD = 1_000_000_000;
let next = HEAD;
pg.Client.prototype.query = function early(config, ...rest) {
  if (!config?.text?.includes('cc.append(')) return query.call(this, config, ...rest);
  const answer = query.call(this, config, ...rest);
  const [batch, checked] = config.values;
  const events = JSON.parse(batch);
  if (checked || events.some(({ type }) => type !== 'conversion.received.v1')) return answer;
  mark('early-answer');
  answer.catch(() => {});
  next += events.length;
  return Promise.resolve({
    rows: [
      {
        outcome: {
          time: Date.now(),
          previous: next - 1,
          first: next,
          lost: null,
          stored: null,
          conflicts: null,
          stale: null,
        },
      },
    ],
  });
};
