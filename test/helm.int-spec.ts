import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { loadAll } from 'js-yaml';
import { chartDigest, renderedFile, VALUES } from '../deploy/render.mjs';
import { definitionsWith, readSettings } from '../src/kernel/settings/settings.js';
import { SIGN_IN_PLATFORMS } from '../src/platforms/index.js';

/** Checks the manifests that `node deploy/render.mjs` made from the chart. Whether they run in a cluster is not tested here. */

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: the shape differs by kind
  readonly spec: any;
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

/** Schemas of Kubernetes for the kinds that are its own; each forbids fields that it does not have. */
const kubernetes = new Ajv({ strict: false }).addSchema(
  JSON.parse(readFileSync('test/fixtures/kubernetes-1.34.json', 'utf8')),
  'kubernetes',
);
const SCHEMAS: Record<string, string> = {
  Deployment: 'apps.v1.Deployment',
  Ingress: 'networking.v1.Ingress',
  NetworkPolicy: 'networking.v1.NetworkPolicy',
  PersistentVolumeClaim: 'core.v1.PersistentVolumeClaim',
  PodDisruptionBudget: 'policy.v1.PodDisruptionBudget',
  Service: 'core.v1.Service',
};
const OF_OPERATORS = ['Cluster', 'Kafka', 'KafkaNodePool', 'KafkaUser', 'ServiceMonitor'];

/** Variables that are only parts of settings. */
const PARTS = ['DATABASE_USERNAME', 'DATABASE_PASSWORD'];
/** What a Secret may contain. */
const SECRETS: Record<string, string> = {
  DATABASE_USERNAME: 'app',
  DATABASE_PASSWORD: 'generated',
  KAFKA_SASL_PASSWORD: 'generated',
  CELL_TOKENS: 'south=cct_token',
  SECRET_KEY: '0'.repeat(64),
};
const SETTING_NAMES = definitionsWith(SIGN_IN_PLATFORMS).map(({ name }) => name);

const manifestsOf = (name: string) =>
  loadAll(readFileSync(renderedFile(name), 'utf8')).filter((each) => each !== null) as Manifest[];
const manifest = (name: string, kind: string) => manifestsOf(name).find((each) => each.kind === kind);
const find = (name: string, kind: string) => manifest(name, kind)?.spec;
const variablesOf = (name: string) => find(name, 'Deployment').template.spec.containers[0].env as Variable[];
/** As Kubernetes passes them, with the values of Secrets and of the variables before. */
const environmentOf = (name: string) => {
  const environment: Record<string, string> = {};
  for (const { name: variable, value } of variablesOf(name)) {
    const raw = value ?? (SECRETS[variable] as string);
    environment[variable] = raw.replace(/\$\((\w+)\)/g, (_, part) => environment[part] as string);
  }
  for (const part of PARTS) delete environment[part];
  // The chart mounts it; here it is a file that exists.
  if (environment['KAFKA_SSL_CA']) environment['KAFKA_SSL_CA'] = import.meta.filename;
  return environment;
};
const settingsOf = (name: string) => {
  const { SECRET_KEY } = SECRETS;
  const environment = environmentOf(name);
  return readSettings(environment['DATABASE_URL'] ? { SECRET_KEY, ...environment } : environment);
};

describe.each(Object.keys(VALUES))('the chart with %s values', (name) => {
  const pod = () => find(name, 'Deployment').template.spec;
  const container = () => pod().containers[0];

  it('was rendered as it is now', () => {
    // Otherwise run `node deploy/render.mjs`, which needs helm, and validate the result.
    expect(readFileSync(renderedFile(name), 'utf8')).toContain(`the chart ${chartDigest()}\n`);
  });

  it('consists of objects that Kubernetes accepts', () => {
    for (const each of manifestsOf(name).filter(({ kind }) => !OF_OPERATORS.includes(kind))) {
      const isValid = kubernetes.getSchema(`kubernetes#/definitions/${SCHEMAS[each.kind]}`);
      expect([each.kind, isValid?.(each), isValid?.errors]).toEqual([each.kind, true, null]);
    }
  });

  it('sets only settings that exist', () => {
    expect(Object.keys(environmentOf(name)).filter((each) => !SETTING_NAMES.includes(each))).toEqual([]);
    expect(() => settingsOf(name)).not.toThrow();
  });

  it('leaves a shutdown more time than it takes', () => {
    const { shutdownGraceMs } = settingsOf(name);
    const preStopS = Number(container().lifecycle.preStop.exec.command[1]);
    expect(pod().terminationGracePeriodSeconds).toBeGreaterThan(preStopS + shutdownGraceMs / 1_000);
  });

  it('runs without privileges on a read-only file system, with a volume for what must last', () => {
    expect(pod()).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } });
    expect(container().securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const claim = manifestsOf(name).find((each) => each.kind === 'PersistentVolumeClaim')?.metadata.name;
    expect(pod().volumes).toContainEqual({ name: 'data', persistentVolumeClaim: { claimName: claim } });
    expect(container().volumeMounts).toContainEqual({ name: 'data', mountPath: '/data' });
  });

  it('takes secrets from a Secret that exists, and contains none', () => {
    expect(container().envFrom).toEqual([{ secretRef: { name: 'clean-conversions' } }]);
    expect(manifestsOf(name).map(({ kind }) => kind)).not.toContain('Secret');
    const secret = variablesOf(name).filter((each) => /KEY|PASSWORD|SECRET|TOKENS/.test(each.name));
    expect(secret.filter(({ value, valueFrom }) => value !== undefined || !valueFrom)).toEqual([]);
    for (const { value } of variablesOf(name).filter((each) => /URL$/.test(each.name)))
      expect(value).toContain('//$(DATABASE_USERNAME):$(DATABASE_PASSWORD)@');
  });

  it('has probes, and keeps one replica during a disruption', () => {
    expect(container().livenessProbe.httpGet.path).toBe('/healthz');
    expect(container().readinessProbe.httpGet.path).toBe('/readyz');
    expect(find(name, 'PodDisruptionBudget').minAvailable).toBeLessThan(find(name, 'Deployment').replicas);
    expect(find(name, 'PodDisruptionBudget').selector).toEqual(find(name, 'Deployment').selector);
    expect(find(name, 'Service').selector).toEqual(find(name, 'Deployment').selector.matchLabels);
  });
});

it('the chart publishes only what senders and the tag call, over TLS', () => {
  const { tls, rules } = find('complete', 'Ingress');
  expect(tls).toEqual([{ hosts: ['shop.example'], secretName: 'shop-tls' }]);
  expect(rules[0].http.paths.map(({ path }: { path: string }) => path)).toEqual(['/__cc']);
  expect(find('default', 'Ingress')).toBeUndefined();
});

describe('the network policy of the chart', () => {
  const policyOf = (name: string) => find(name, 'NetworkPolicy');

  it('opens only the port of the service, to the named peers', () => {
    const [http] = find('default', 'Deployment').template.spec.containers[0].ports;
    expect(policyOf('default')).toEqual({
      podSelector: find('default', 'Deployment').selector,
      policyTypes: ['Ingress'],
      ingress: [{ ports: [{ port: http.name, protocol: 'TCP' }] }],
    });
    const [{ from }, more] = policyOf('complete').ingress;
    expect(from).toEqual([{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress-nginx' } } }]);
    expect(more.from).toEqual([{ ipBlock: { cidr: '198.51.100.0/24' } }]);
    expect(policyOf('existing')).toBeUndefined();
  });

  it('lets the service reach names, public addresses over TLS, and its database and brokers only', () => {
    for (const name of ['complete', 'cluster']) expect(policyOf(name).policyTypes).toEqual(['Ingress', 'Egress']);
    const [names, platforms, ...own] = policyOf('cluster').egress;
    expect(names.ports.map(({ port }: { port: number }) => port)).toEqual([53, 53]);
    expect(platforms.ports).toEqual([{ port: 443, protocol: 'TCP' }]);
    const [v4, v6] = platforms.to.map(({ ipBlock }: { ipBlock: { except: string[] } }) => ipBlock.except);
    expect(v4).toEqual(expect.arrayContaining(['10.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16']));
    expect(v6).toEqual(expect.arrayContaining(['fc00::/7', 'fe80::/10']));
    const pods = (label: object, port: number) => ({
      ports: [{ port, protocol: 'TCP' }],
      to: [{ podSelector: { matchLabels: label } }],
    });
    expect(own).toEqual([
      pods({ 'cnpg.io/cluster': 'north-database' }, 5432),
      pods({ 'strimzi.io/cluster': 'brokers' }, 9093),
    ]);
    expect(policyOf('complete').egress.at(-1).to).toEqual([{ ipBlock: { cidr: '10.20.0.0/24' } }]);
  });
});

describe('the chart with operators', () => {
  it('finds the servers and brokers of the operators, over TLS with their certificate authorities', () => {
    expect(environmentOf('cluster')).toMatchObject({
      CELL: 'north',
      CELLS: 'north=https://admin.north.example,south=https://admin.south.example',
      DATABASE_URL: expect.stringMatching(
        /^postgres:\/\/app:generated@north-database-rw:5432\/app\?sslmode=verify-full&/,
      ),
      DATABASE_READ_URL: expect.stringMatching(/@north-database-ro:5432\/app\?sslmode=verify-full&/),
      KAFKA_BROKERS: 'brokers-kafka-bootstrap:9093',
      KAFKA_SSL: 'true',
      KAFKA_TOPIC_PREFIX: 'north.',
    });
    const { volumes, containers } = find('cluster', 'Deployment').template.spec;
    const mounted = ['database', 'kafka'].map((each) => `/etc/clean-conversions/${each}`);
    expect(containers[0].volumeMounts.map((each: { mountPath: string }) => each.mountPath)).toEqual(
      expect.arrayContaining(mounted),
    );
    for (const secretName of ['north-database-ca', 'brokers-cluster-ca-cert']) {
      const secret = { secretName, items: [{ key: 'ca.crt', path: 'ca.crt' }] };
      expect(volumes).toContainEqual(expect.objectContaining({ secret }));
    }
    const refs = variablesOf('cluster').flatMap(({ name, valueFrom }) =>
      valueFrom ? [[name, valueFrom.secretKeyRef]] : [],
    );
    expect(Object.fromEntries(refs)).toEqual({
      DATABASE_USERNAME: { name: 'north-database-app', key: 'username' },
      DATABASE_PASSWORD: { name: 'north-database-app', key: 'password' },
      KAFKA_SASL_PASSWORD: { name: 'cc-clean-conversions', key: 'password' },
      CELL_TOKENS: { name: 'north-cells', key: 'CELL_TOKENS' },
    });
  });

  it('creates servers of which one standby confirms each append, and keeps them when it is uninstalled', () => {
    const { instances, postgresql, bootstrap } = find('cluster', 'Cluster');
    expect(postgresql.synchronous).toEqual({ method: 'any', number: 1, dataDurability: 'required' });
    expect(instances).toBeGreaterThan(postgresql.synchronous.number + 1);
    // As docs/operate/configure.md requires for a login that may not create roles.
    expect(bootstrap.initdb.postInitApplicationSQL).toEqual([
      'CREATE ROLE cc_service NOLOGIN',
      'GRANT cc_service TO "app"',
    ]);
    for (const kind of ['Cluster', 'Kafka', 'KafkaNodePool'])
      expect(manifest('cluster', kind)?.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
  });

  it('gives the user of a cell rights on its prefix only', () => {
    const { acls } = find('cluster', 'KafkaUser').authorization;
    expect(acls.map(({ resource }: { resource: object }) => resource)).toEqual(
      ['group', 'topic', 'transactionalId'].map((type) => ({ type, name: 'north.', patternType: 'prefix' })),
    );
    const { listeners, authorization } = find('cluster', 'Kafka').kafka;
    expect([listeners[0].authentication.type, authorization.type]).toEqual(['scram-sha-512', 'simple']);
    expect(find('cluster', 'KafkaUser').authentication).toEqual(listeners[0].authentication);
  });

  it('creates nothing of them by default, or for those that exist', () => {
    const kinds = ['Cluster', 'Kafka', 'KafkaNodePool', 'KafkaUser'];
    for (const name of ['default', 'complete', 'existing'])
      expect(manifestsOf(name).filter(({ kind }) => kinds.includes(kind))).toEqual([]);
    expect(settingsOf('existing')).toMatchObject({ kafkaTopicPrefix: 'south.', kafkaSaslUsername: 'south' });
    expect(settingsOf('existing').databaseReadUrl).toBeUndefined();
    expect(settingsOf('default').databaseUrl).toBeUndefined();
  });
});
