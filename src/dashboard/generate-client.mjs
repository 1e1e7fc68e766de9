// Writes dist/dashboard/api.d.ts, the types of the management API that the dashboard's client uses, from the built code.
// Generated where types are checked and not kept in the repository: the API is described once, by its controllers.
import 'reflect-metadata';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import openapiTS, { astToString } from 'openapi-typescript';
import { AdminModule } from '../../dist/admin/admin.module.js';
import { adminDocument } from '../../dist/admin/document.js';
import { Logger } from '../../dist/kernel/logger.js';
import { readSettings } from '../../dist/kernel/settings/settings.js';

const folder = fileURLToPath(new URL('../../dist/dashboard/', import.meta.url));
// In preview mode nothing is created, so no database is needed.
const settings = readSettings({});
const options = { settings, logger: new Logger('silent'), sealer: {}, postgres: {} };
const app = await NestFactory.create(AdminModule.with(options), new FastifyAdapter(), { preview: true, logger: false });
app.setGlobalPrefix('api/v1');
const types = astToString(await openapiTS(JSON.stringify(adminDocument(app))));
mkdirSync(folder, { recursive: true });
writeFileSync(`${folder}api.d.ts`, types);
