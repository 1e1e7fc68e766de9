import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { FAILSAFE_SCHEMA, load } from 'js-yaml';
import { serverProperties } from '../src/kafka-broker/properties.js';
import { definitionsWith, readSettings } from '../src/kernel/settings/settings.js';
import { SIGN_IN_PLATFORMS } from '../src/platforms/index.js';
import { temporaryFolder } from './support/folders.js';

/**
 * Checks the image and the composition without a container engine: the files, settings, commands and services that they name
 * exist. Whether they build and run is not tested here.
 */

const checkout = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(checkout, file), 'utf8');
const { scripts, engines } = JSON.parse(read('package.json')) as {
  scripts: Record<string, string>;
  engines: { node: string };
};
/** The first command of the file, and what it writes. */
const SECRETS_COMMAND = /^# {3}(\(umask .*\))$/m;
const DEFAULTS = readSettings({});
const SETTING_NAMES = definitionsWith(SIGN_IN_PLATFORMS).map(({ name }) => name);

describe('the image', () => {
  const instructions = readDockerfile(read('Dockerfile'));
  const all = (name: string) => instructions.filter((one) => one.name === name).map(({ rest }) => rest);
  /** Instructions of the last stage, which is the one that is shipped. */
  const shipped = (name: string) => {
    const from = instructions.findLastIndex((one) => one.name === 'FROM');
    return instructions.filter((one, at) => at > from && one.name === name).map(({ rest }) => rest);
  };

  it('uses a supported version of Node', () => {
    const [oldest] = /\d+/.exec(engines.node) as RegExpExecArray;
    const [version] = all('ARG').map((rest) => /^NODE_VERSION=(\d+)$/.exec(rest)?.[1]);
    expect(Number(version)).toBeGreaterThanOrEqual(Number(oldest));
    expect(all('FROM').map((rest) => rest.replace(/ AS \w+$/, ''))).toEqual(
      Array(2).fill(`node:$\{NODE_VERSION}-bookworm-slim`),
    );
  });

  it('copies files that exist and are in the build context', () => {
    const sources = all('COPY')
      .filter((rest) => !rest.startsWith('--from='))
      .flatMap((rest) => rest.split(' ').slice(0, -1));
    expect(sources).toEqual(expect.arrayContaining(['package-lock.json', '.npmrc', 'src', 'LICENSE']));
    expect(sources.filter((file) => !existsSync(join(checkout, file)))).toEqual([]);
    // Everything is excluded but the files that the image needs.
    const ignored = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(ignored[0]).toBe('*');
    const included = ignored.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    expect(included.sort()).toEqual([...new Set(sources)].sort());
  });

  it('installs from the lock file, builds, and contains what the package contains', () => {
    const [install, build, stage] = all('RUN') as [string, string, string];
    expect(install).toBe('npm ci --ignore-scripts');
    expect(build).toBe('npm run build');
    expect(stage).toBe('node scripts/stage-package.mjs /package');
    expect(shipped('COPY')).toEqual(['--from=build /package ./']);
  });

  it('runs the command of npm start, as an unprivileged user, on all addresses', () => {
    expect(JSON.parse(shipped('CMD').at(-1) as string)).toEqual(scripts['start']?.split(' '));
    expect(existsSync(join(checkout, 'src/main.ts'))).toBe(true);
    expect(shipped('USER')).toEqual(['node']);
    expect(shipped('ENV')).toEqual(['HOST=0.0.0.0 DATA_DIR=/data']);
    expect(SETTING_NAMES).toEqual(expect.arrayContaining(['HOST', 'DATA_DIR']));
    expect(shipped('EXPOSE')).toEqual([String(DEFAULTS.port)]);
  });

  it('has the command line under the name of the package’s bin entry', () => {
    const { bin } = JSON.parse(read('package.json')) as { bin: Record<string, string> };
    const [[name, path]] = Object.entries(bin) as [[string, string]];
    expect(shipped('RUN')[0]).toBe(`ln -s /app/${path} /usr/local/bin/${name}`);
    expect(read(path)).toMatch(/^#!\/usr\/bin\/env node\n/);
    expect(statSync(join(checkout, path)).mode & 0o111).toBe(0o111);
  });

  it('has a data folder that its user can write to, for the list of erasures', () => {
    const { erasureList } = readSettings({ DATA_DIR: '/data' });
    expect(shipped('ENV').join(' ')).toMatch(/\bDATA_DIR=\/data$/);
    expect(erasureList).toBe('/data/erasures');
    const [user] = shipped('USER');
    expect(shipped('RUN')).toContain(`mkdir /data && chown ${user}:${user} /data`);
  });

  it('is healthy only while /healthz answers with 200', async () => {
    const command = /CMD (\[.*\])$/.exec(shipped('HEALTHCHECK')[0] as string)?.[1] as string;
    const [program, ...args] = JSON.parse(command) as [string, ...string[]];
    expect(program).toBe('node');
    let status = 200;
    const requested: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      requested.push(request.url);
      response.writeHead(status).end();
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as AddressInfo;
    const env = { PATH: process.env['PATH'] ?? '', PORT: String(port) };
    const check = () =>
      new Promise((done) => execFile(process.execPath, args, { env }, (error) => done(error ? error.code : 0)));
    expect(await check()).toBe(0);
    status = 503;
    expect(await check()).toBe(1);
    await new Promise((closed) => server.close(closed));
    expect(await check()).toBe(1);
    expect(requested).toEqual(['/healthz', '/healthz']);
  });
});

describe('the composition', () => {
  const text = read('docker-compose.yml');
  const secrets = generateSecrets(SECRETS_COMMAND.exec(text)?.[1] as string);
  const { services, networks, volumes, configs } = load(interpolate(text, secrets), {
    schema: FAILSAFE_SCHEMA,
  }) as Composition;
  const { proxy, service, postgres, kafka } = services as Record<'proxy' | 'service' | 'postgres' | 'kafka', Service>;

  it('gives the service valid settings', () => {
    expect(Object.keys(service.environment).filter((name) => !SETTING_NAMES.includes(name))).toEqual([]);
    const settings = readSettings(service.environment);
    expect(settings).toMatchObject({ databaseUrl: expect.any(String), secretKey: expect.any(Buffer) });
    expect(settings.trustedProxies).toHaveLength(1);
    // All other settings are read from the file that the first command creates.
    expect(service.env_file).toBe('.env');
  });

  it('requires generated secrets and has no default for any', () => {
    expect(secrets).toEqual({
      SECRET_KEY: expect.stringMatching(/^[0-9a-f]{64}$/),
      POSTGRES_PASSWORD: expect.stringMatching(/^[0-9a-f]{48}$/),
    });
    for (const missing of Object.keys(secrets)) {
      expect(() => interpolate(text, { ...secrets, [missing]: '' })).toThrow(
        `${missing}: create it with the first command in docker-compose.yml`,
      );
    }
    expect(text).not.toMatch(/(KEY|PASSWORD|SECRET)\w*:-/);
    // Neither git nor the image's build context contains the file.
    expect(read('.gitignore').split('\n')).toContain('.env');
    expect(read('docs/operate/install.md')).toContain(SECRETS_COMMAND.exec(text)?.[1]);
  });

  it('gives a way out only to the service and the proxy', () => {
    const outward = Object.keys(networks).filter(
      (name) => (networks[name] as { internal?: string }).internal !== 'true',
    );
    const withWayOut = Object.keys(services).filter((name) =>
      services[name]?.networks.some((network) => outward.includes(network)),
    );
    expect(withWayOut.sort()).toEqual(['proxy', 'service', 'service-2']);
    expect(service.networks).toContain('platforms');
    // The proxy reaches the service only on the network that TRUSTED_PROXIES names.
    expect(proxy.networks).not.toContain('platforms');
  });

  it('connects the service to a database that is reachable only on the internal network', () => {
    const url = new URL(service.environment['DATABASE_URL'] as string);
    expect([url.hostname, url.port, url.username, url.password, url.pathname.slice(1)]).toEqual([
      'postgres',
      '5432',
      postgres.environment['POSTGRES_USER'],
      postgres.environment['POSTGRES_PASSWORD'],
      postgres.environment['POSTGRES_DB'],
    ]);
    expect(postgres.networks).toEqual(['back']);
    expect(networks['back']).toEqual({ internal: 'true' });
    expect(postgres.ports).toBeUndefined();
    // From version 18 on, the image's volume is the parent of the data folder.
    expect(postgres.image).toMatch(/^postgres:18\b/);
    expect(postgres.volumes).toEqual(['postgres-data:/var/lib/postgresql']);
  });

  it('keeps the list of erasures in a volume that both instances share, apart from the database', () => {
    for (const name of ['service', 'service-2']) expect(services[name]?.volumes).toEqual(['service-data:/data']);
    expect(postgres.volumes?.some((volume) => volume.startsWith('service-data:'))).toBe(false);
    expect(Object.keys(volumes)).toContain('service-data');
    // The default of the image is the mounted folder.
    expect(service.environment).not.toHaveProperty('ERASURE_LIST');
    expect(service.environment).not.toHaveProperty('DATA_DIR');
  });

  it('runs the service on a read-only file system, without privileges, and lets it end by itself', () => {
    expect(service).toMatchObject({
      read_only: 'true',
      tmpfs: ['/tmp'],
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
    const [, seconds] = /^(\d+)s$/.exec(service.stop_grace_period ?? '') as RegExpExecArray;
    expect(Number(seconds) * 1000).toBeGreaterThan(readSettings(service.environment).shutdownGraceMs);
  });

  it('publishes only the TLS ports of the proxy, the dashboard on loopback, and trusts only the proxy', () => {
    expect(proxy.ports).toEqual(['443:443', '127.0.0.1:8443:8443']);
    expect(service.ports).toBeUndefined();
    expect(proxy.configs).toEqual([{ source: 'proxy', target: proxy.command.at(-1) }]);
    const { port, adminPort } = DEFAULTS;
    const routes = readRoutes(configs['proxy']?.content as string);
    expect(routes).toEqual([
      { host: 'localhost', to: [`service:${port}`, `service-2:${port}`] },
      { host: 'localhost:8443', to: [`service:${adminPort}`, `service-2:${adminPort}`] },
    ]);
    expect(service.environment['ADMIN_URL']).toBe(`https://${routes[1]?.host}`);
    const shared = proxy.networks.filter((name) => service.networks.includes(name));
    expect(shared).toEqual(['front']);
    expect(networks['front']).toMatchObject({
      internal: 'true',
      ipam: { config: [{ subnet: service.environment['TRUSTED_PROXIES'] }] },
    });
    const inFront = Object.keys(services).filter((name) => services[name]?.networks.includes('front'));
    expect(inFront.sort()).toEqual(['proxy', 'service', 'service-2']);
  });

  it('starts each service when its dependency is healthy', () => {
    expect(proxy.depends_on).toEqual({
      service: { condition: 'service_healthy' },
      'service-2': { condition: 'service_healthy' },
    });
    expect(service.depends_on).toEqual({ postgres: { condition: 'service_healthy' } });
    expect(service.build).toBe('.');
    expect(read('Dockerfile')).toContain('HEALTHCHECK');
    const { POSTGRES_USER: user, POSTGRES_DB: database } = postgres.environment;
    expect(postgres.healthcheck?.test).toEqual(
      expect.arrayContaining(['CMD', 'pg_isready', `--username=${user}`, `--dbname=${database}`]),
    );
  });

  it('runs a second instance that is identical to the first', () => {
    expect(services['service-2']).toEqual(service);
  });

  it('connects the service to a broker with the configuration of npm run kafka', () => {
    const settings = readSettings(service.environment);
    expect(settings.kafkaBrokers).toEqual(['kafka:9092']);
    expect(kafka.environment['KAFKA_ADVERTISED_LISTENERS']).toBe(`PLAINTEXT://${settings.kafkaBrokers?.[0]}`);
    expect(kafka.networks).toEqual(['back']);
    expect(kafka.ports).toBeUndefined();
    expect(kafka.volumes).toEqual([`kafka-data:${kafka.environment['KAFKA_LOG_DIRS']}`]);
    expect(kafka.healthcheck?.test.slice(0, 2)).toEqual(['CMD', '/opt/kafka/bin/kafka-broker-api-versions.sh']);
    const node = { id: 1, port: 9092, controllerPort: 9093 };
    const native = new Map(
      serverProperties(node, [node], '/var/lib/kafka/data')
        .trim()
        .split('\n')
        .map((line) => line.split('=') as [string, string]),
    );
    // The image maps KAFKA_LOG_DIRS to log.dirs, and so on.
    for (const [name, value] of Object.entries(kafka.environment)) {
      const property = name.replace('KAFKA_', '').replaceAll('_', '.').toLowerCase();
      expect(native.has(property)).toBe(true);
      if (!/listeners$|voters$/.test(property)) expect([property, value]).toEqual([property, native.get(property)]);
    }
  });

  it('declares every network and volume that it uses', () => {
    for (const { networks: used, volumes: mounted = [] } of Object.values(services)) {
      expect(Object.keys(networks)).toEqual(expect.arrayContaining(used));
      expect(Object.keys(volumes)).toEqual(expect.arrayContaining(mounted.map((one) => one.split(':')[0])));
    }
  });

  it('is valid for docker compose', () => {
    if (spawnSync('docker', ['compose', 'version']).status !== 0) {
      console.warn('SKIPPED: docker compose reading docker-compose.yml (install docker with its compose plugin).');
      return;
    }
    const config = (env: Record<string, string>) =>
      spawnSync('docker', ['compose', '-f', 'docker-compose.yml', 'config', '--quiet'], {
        cwd: checkout,
        encoding: 'utf8',
        env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
      });
    expect(config(secrets)).toMatchObject({ status: 0, stderr: '' });
    const without = config({});
    expect(without.status).not.toBe(0);
    expect(without.stderr).toContain('SECRET_KEY');
  });
});

/** Host and upstreams of each site, as Caddy itself reads its file. */
function readRoutes(caddyfile: string): { host: string; to: string[] }[] {
  const file = join(temporaryFolder('cc-caddy-'), 'Caddyfile');
  writeFileSync(file, caddyfile);
  const command = ['adapt', '--config', file, '--adapter', 'caddyfile'];
  const { status, stdout, error } = spawnSync('caddy', command, { encoding: 'utf8' });
  if (error) {
    console.warn('SKIPPED: Caddy reading the configuration in docker-compose.yml (install caddy).');
    return [...caddyfile.matchAll(/^(?:https:\/\/)?(\S+) \{\n[^}]*?reverse_proxy (.*)\n/gm)].map(
      ([, host = '', to = '']) => {
        return { host, to: to.split(' ') };
      },
    );
  }
  expect(status).toBe(0);
  const { servers } = (JSON.parse(stdout) as CaddyConfig).apps.http;
  return Object.values(servers).flatMap(({ listen: [address = ''], routes }) =>
    routes.map(
      ({
        match: [{ host }],
        handle: [
          {
            routes: [{ handle }],
          },
        ],
      }) => ({
        host: address === ':443' ? host[0] : `${host[0]}${address}`,
        to: handle.flatMap(({ upstreams = [] }) => upstreams.map(({ dial }) => dial)),
      }),
    ),
  );
}

interface CaddyConfig {
  readonly apps: {
    readonly http: {
      readonly servers: Record<
        string,
        {
          readonly listen: string[];
          readonly routes: {
            readonly match: [{ readonly host: [string] }];
            readonly handle: [
              { readonly routes: [{ readonly handle: { readonly upstreams?: { dial: string }[] }[] }] },
            ];
          }[];
        }
      >;
    };
  };
}

interface Service {
  readonly image?: string;
  readonly build?: string;
  readonly command: string[];
  readonly env_file?: string;
  readonly configs?: { source: string; target: string }[];
  readonly environment: Record<string, string>;
  readonly ports?: string[];
  readonly volumes?: string[];
  readonly networks: string[];
  readonly depends_on?: Record<string, { condition: string }>;
  readonly healthcheck?: { test: string[] };
  readonly stop_grace_period?: string;
}

interface Composition {
  readonly services: Record<string, Service>;
  readonly networks: Record<string, unknown>;
  readonly volumes: Record<string, unknown>;
  readonly configs: Record<string, { content: string }>;
}

/** Runs the command in an empty folder and reads the file that it creates, as compose does. */
function generateSecrets(command: string): Record<string, string> {
  const folder = temporaryFolder('cc-secrets-');
  try {
    execFileSync('sh', ['-c', command], { cwd: folder });
    const lines = readFileSync(join(folder, '.env'), 'utf8').trim().split('\n');
    return Object.fromEntries(lines.map((line) => line.split('=')));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** One entry per instruction, continued lines joined. */
function readDockerfile(text: string): { name: string; rest: string }[] {
  return text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
      return { name, rest };
    });
}

/** `${NAME:-default}` and `${NAME:?message}`, as compose reads them. */
function interpolate(text: string, env: Record<string, string>): string {
  return text.replace(/\$\{(\w+):([-?])([^}]*)\}/g, (_, name: string, kind: string, other: string) => {
    if (env[name]) return env[name];
    if (kind === '?') throw new Error(`${name}: ${other}`);
    return other;
  });
}
