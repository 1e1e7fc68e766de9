// node deploy/render.mjs: renders the chart with helm, for the default values and for all optional parts. The specs check the result,
// so that they need no helm, and that it belongs to the chart as it is.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = import.meta.dirname;
const chart = join(folder, 'helm');
const KUBERNETES = '1.34.0';

export const VALUES = {
  default: {},
  complete: {
    settings: { TRUSTED_PROXIES: '192.0.2.0/24', OPERATIONS_FROM: '198.51.100.0/24', KAFKA_BROKERS: 'kafka:9092' },
    ingress: { enabled: true, className: 'nginx', hosts: ['shop.example'], tlsSecret: 'shop-tls' },
    serviceMonitor: { enabled: true },
    imagePullSecrets: [{ name: 'registry' }],
    nodeSelector: { disk: 'ssd' },
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
  },
};

/** Of all files of the chart. */
export function chartDigest() {
  const hash = createHash('sha256');
  const files = readdirSync(chart, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const file of files.map((entry) => join(entry.parentPath, entry.name)).sort())
    hash.update(file.slice(chart.length)).update(readFileSync(file));
  return hash.digest('hex');
}

export const renderedFile = (name) => join(folder, 'rendered', `${name}.yaml`);

if (process.argv[1] === import.meta.filename) {
  for (const [name, values] of Object.entries(VALUES)) {
    const args = ['template', 'cc', chart, '--kube-version', KUBERNETES, '--values', '-'];
    const text = execFileSync('helm', args, { encoding: 'utf8', input: JSON.stringify(values) });
    writeFileSync(renderedFile(name), `# Rendered by deploy/render.mjs from the chart ${chartDigest()}\n${text}`);
  }
}
