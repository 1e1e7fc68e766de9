// node deploy/render.mjs: renders the chart with helm, for the default values, all optional parts, and the shape of a cluster. The specs check the result,
// so that they need no helm, and that it belongs to the chart as it is.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = import.meta.dirname;
const chart = join(folder, 'helm');
const KUBERNETES = '1.34.0';

/** The custom resources of CloudNativePG and Strimzi. */
const APIS = ['postgresql.cnpg.io/v1/Cluster', ...['Kafka', 'KafkaUser'].map((kind) => `kafka.strimzi.io/v1/${kind}`)];

export const VALUES = {
  default: {},
  complete: {
    settings: { TRUSTED_PROXIES: '192.0.2.0/24', OPERATIONS_FROM: '198.51.100.0/24', KAFKA_BROKERS: 'kafka:9092' },
    ingress: { enabled: true, className: 'nginx', hosts: ['shop.example'], tlsSecret: 'shop-tls' },
    serviceMonitor: { enabled: true },
    networkPolicy: {
      from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress-nginx' } } }],
      ingress: [{ ports: [{ port: 'http' }], from: [{ ipBlock: { cidr: '198.51.100.0/24' } }] }],
      restrictEgress: true,
      egress: [{ ports: [{ port: 5432 }, { port: 9092 }], to: [{ ipBlock: { cidr: '10.20.0.0/24' } }] }],
    },
    imagePullSecrets: [{ name: 'registry' }],
    nodeSelector: { disk: 'ssd' },
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
  },
  // A cell of a cluster as `npm run cluster` starts it: its own servers, and brokers that it shares with the other cell.
  cluster: {
    cell: {
      name: 'north',
      all: { north: 'https://admin.north.example', south: 'https://admin.south.example' },
      tokensSecret: 'north-cells',
    },
    database: { cluster: 'north-database', create: true },
    kafka: { cluster: 'brokers', create: true },
    networkPolicy: { restrictEgress: true },
  },
  // Another one, with servers and brokers that exist.
  existing: {
    cell: { name: 'south' },
    database: { cluster: 'south-database', existingSecret: 'south-login', readStandbys: false },
    kafka: { cluster: 'brokers', user: 'south', createUser: false },
    networkPolicy: { enabled: false },
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
    if (name === 'cluster') args.push(...APIS.flatMap((api) => ['--api-versions', api]));
    const text = execFileSync('helm', args, { encoding: 'utf8', input: JSON.stringify(values) });
    writeFileSync(renderedFile(name), `# Rendered by deploy/render.mjs from the chart ${chartDigest()}\n${text}`);
  }
}
