// The configuration files beside this one contain ${names}, which are replaced when a cluster is started.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export function render(file, values) {
  const template = readFileSync(join(import.meta.dirname, file), 'utf8');
  return template.replace(/\$\{(\w+)\}/g, (_, name) => {
    if (values[name] === undefined) throw new Error(`${file}: there is no value for ${name}.`);
    return values[name];
  });
}
