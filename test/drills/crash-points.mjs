// Loaded into an instance: kills it at a named point, the nth time it gets there (CRASH_POINT, CRASH_AT).
//   before-insert, after-commit   around the append of a conversion
//   before-answer                 when the response to a sender is written
//   before-send, after-send       around a request to a platform
//   before-outcome                before the append of an outcome
import { subscribe } from 'node:diagnostics_channel';
import { ServerResponse } from 'node:http';
import { pg } from './breaks/service.mjs';

const { CRASH_POINT, CRASH_AT = '1' } = process.env;
let passed = 0;

function reach(point) {
  if (point !== CRASH_POINT) return;
  passed += 1;
  if (passed === Number(CRASH_AT)) process.kill(process.pid, 'SIGKILL');
}

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function crashing(config, ...rest) {
  const text = typeof config === 'string' ? config : config?.text;
  if (!text?.includes('cc.append(')) return query.call(this, config, ...rest);
  const [batch] = config.values ?? rest[0];
  const receives = batch.includes('"conversion.received.v1"');
  if (receives) reach('before-insert');
  if (/"conversion\.(delivered|deferred|failed|skipped)\.v1"/.test(batch)) reach('before-outcome');
  const answer = query.call(this, config, ...rest);
  if (receives)
    answer?.then?.(
      () => reach('after-commit'),
      () => {},
    );
  return answer;
};

const { end } = ServerResponse.prototype;
ServerResponse.prototype.end = function crashing(...args) {
  if (this.req?.url === '/__cc/inbound') reach('before-answer');
  return end.apply(this, args);
};

subscribe('undici:client:sendHeaders', () => reach('before-send'));
subscribe('undici:request:headers', () => reach('after-send'));
