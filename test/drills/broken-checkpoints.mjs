// Loaded into the consumers to prove that the consumer drill can fail: they read position 0 for the projection's checkpoint
// and for its partition checkpoints, so every received event counts as new.
import pg from 'pg';

const READS_CHECKPOINT =
  /FROM cc\.projections WHERE name = \$1 FOR SHARE|FROM cc\.partition_checkpoints[^;]*FOR UPDATE/;
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function withoutCheckpoints(text, ...rest) {
  const answer = query.call(this, text, ...rest);
  if (!READS_CHECKPOINT.test(text)) return answer;
  return answer.then((result) => ({ ...result, rows: result.rows.map((row) => ({ ...row, position: '0' })) }));
};
