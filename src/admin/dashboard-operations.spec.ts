import 'reflect-metadata';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Logger } from '../kernel/logger.js';
import { readSettings } from '../kernel/settings/settings.js';
import { AdminModule, type AdminOptions } from './admin.module.js';
import { adminDocument } from './document.js';

const BROWSER = fileURLToPath(new URL('../dashboard/browser', import.meta.url));

/** Operations that the dashboard does not call through its client, and why. */
const OTHERS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['GET', 'POST', ...['erased', 'events', 'leases', 'open', 'secrets'].map((step) => `POST ${step}`)].map((step) => [
      step.replace(
        /^(\w+) ?(\w*)$/,
        (_, method, part) => `${method} /api/v1/sites/{site}/arrival${part && `/${part}`}`,
      ),
      'A step of "sites move", which another cell makes.',
    ]),
  ),
  'GET /api/v1/definitions': 'Platforms are defined on the command line, or by a program.',
  'GET /api/v1/definitions/{name}': 'As above.',
  'PUT /api/v1/definitions': 'As above.',
  'GET /api/v1/events': 'A stream, which event-stream.ts reads with fetch.',
  'GET /api/v1/jobs/{id}/file': 'History has a link to it, which the browser downloads.',
  'GET /api/v1/oauth-apps/{platform}': 'GET /api/v1/oauth-apps has the same about each.',
  'GET /api/v1/sites/{site}': 'GET /api/v1/sites has the same about each.',
  'GET /api/v1/sites/{site}/attention': 'GET /api/v1/attention has the same about each site, and what concerns none.',
  'GET /api/v1/users/{id}': 'GET /api/v1/users has the same about each.',
};

/** In preview mode nothing is created, so no database is needed. */
async function operations(): Promise<string[]> {
  const options = { settings: readSettings({}), logger: new Logger('silent'), sealer: {}, postgres: {} };
  const module = AdminModule.with(options as unknown as AdminOptions);
  const app = await NestFactory.create<NestFastifyApplication>(module, new FastifyAdapter(), {
    preview: true,
    logger: false,
  });
  app.setGlobalPrefix('api/v1');
  return Object.entries(adminDocument(app).paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
}

function calls(): Set<string> {
  const files = readdirSync(BROWSER, { recursive: true })
    .map(String)
    .filter((path) => /(?<!\.spec)\.tsx?$/.test(path));
  return new Set(
    files
      .map((path) => readFileSync(join(BROWSER, path), 'utf8'))
      .flatMap((text) => [...text.matchAll(/(?:\bapi\s*\.([A-Z]+)|\buse(?:Get|List))\(\s*'([^']+)'/g)])
      .map(([, method = 'GET', path]) => `${method} ${path}`),
  );
}

describe('the operations of the management API', () => {
  it('are all called by the dashboard, except for those with a stated reason', async () => {
    const all = await operations();
    expect(all.length).toBeGreaterThan(50);
    const called = calls();
    expect(all.filter((operation) => !called.has(operation)).sort()).toEqual(Object.keys(OTHERS).sort());
    expect([...called].filter((operation) => !all.includes(operation))).toEqual([]);
  });
});
