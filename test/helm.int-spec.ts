import { readFileSync } from 'node:fs';
import { loadAll } from 'js-yaml';
import { chartDigest, renderedFile, VALUES } from '../deploy/render.mjs';
import { DEFINITIONS, readSettings } from '../src/kernel/settings.js';

/** Checks the manifests that `node deploy/render.mjs` made from the chart. Whether they run in a cluster is not tested here. */

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: the shape differs by kind
  readonly spec: any;
}

const SETTING_NAMES = Object.values(DEFINITIONS).map(({ name }): string => name);

const manifestsOf = (name: string) =>
  loadAll(readFileSync(renderedFile(name), 'utf8')).filter((each) => each !== null) as Manifest[];
const find = (name: string, kind: string) => manifestsOf(name).find((each) => each.kind === kind)?.spec;

describe.each(Object.keys(VALUES))('the chart with %s values', (name) => {
  const pod = () => find(name, 'Deployment').template.spec;
  const container = () => pod().containers[0];
  const env = () => container().env as { name: string; value: string }[];

  it('was rendered as it is now', () => {
    // Otherwise run `node deploy/render.mjs`, which needs helm, and validate the result.
    expect(readFileSync(renderedFile(name), 'utf8')).toContain(`the chart ${chartDigest()}\n`);
  });

  it('sets only settings that exist', () => {
    expect(env().filter((each) => !SETTING_NAMES.includes(each.name))).toEqual([]);
    expect(() => readSettings(Object.fromEntries(env().map((each) => [each.name, each.value])))).not.toThrow();
  });

  it('leaves a shutdown more time than it takes', () => {
    const { shutdownGraceMs } = readSettings(Object.fromEntries(env().map((each) => [each.name, each.value])));
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
    expect(env().filter((each) => /KEY|PASSWORD|SECRET|URL/.test(each.name))).toEqual([]);
  });

  it('has probes, and keeps one replica during a disruption', () => {
    expect(container().livenessProbe.httpGet.path).toBe('/healthz');
    expect(container().readinessProbe.httpGet.path).toBe('/readyz');
    expect(find(name, 'PodDisruptionBudget').minAvailable).toBeLessThan(find(name, 'Deployment').replicas);
    expect(find(name, 'PodDisruptionBudget').selector).toEqual(find(name, 'Deployment').selector);
    expect(find(name, 'Service').selector).toEqual(find(name, 'Deployment').selector.matchLabels);
  });
});

it('publishes only what senders and the tag call, over TLS', () => {
  const { tls, rules } = find('complete', 'Ingress');
  expect(tls).toEqual([{ hosts: ['shop.example'], secretName: 'shop-tls' }]);
  expect(rules[0].http.paths.map(({ path }: { path: string }) => path)).toEqual(['/__cc']);
  expect(find('default', 'Ingress')).toBeUndefined();
});
