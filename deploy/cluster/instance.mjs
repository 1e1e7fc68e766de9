// One instance of the service.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { isOk, Program } from './processes.mjs';
import { DIST } from './programs.mjs';
import { render } from './templates.mjs';

export class Instance {
  #program;

  /** @param settings values of service.env */
  constructor(name, directory, settings, { restartAfterMs }) {
    Object.assign(this, { name, port: settings.port, adminPort: settings.adminPort });
    const text = render('service.env', settings);
    writeFileSync(join(directory, `${name}.env`), text, { mode: 0o600 });
    this.env = parseEnv(text);
    this.#program = new Program({
      command: process.execPath,
      args: ['--max-semi-space-size=32', join(DIST, 'main.js')],
      env: this.env,
      logFile: join(directory, `${name}.log`),
      restartAfterMs,
    });
  }

  async start({ abort }) {
    await this.#program.started(`${this.name} was ready`, () => isOk(`http://127.0.0.1:${this.port}/readyz`), {
      abort,
    });
  }

  async stop() {
    await this.#program.stop();
  }
}
