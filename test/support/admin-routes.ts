import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import type { TestAdmin } from './admin.js';

/** All routes of the controllers, such as `GET /sites/{site}`: also those that the OpenAPI document leaves out. */
export function routesOfControllers({ app }: TestAdmin): string[] {
  const routes: string[] = [];
  for (const { controllers } of app.get(ModulesContainer).values())
    for (const { metatype } of controllers.values()) {
      const { prototype } = metatype as { prototype: Record<string, object> };
      for (const name of new MetadataScanner().getAllMethodNames(prototype)) {
        const handler = prototype[name] as object;
        const path: string | undefined = Reflect.getMetadata(PATH_METADATA, handler);
        if (path === undefined) continue;
        const prefix: string = Reflect.getMetadata(PATH_METADATA, metatype as object);
        const method = RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod];
        const parts = [prefix, path].flatMap((text) => text.split('/')).filter((part) => part !== '');
        routes.push(`${method} /${parts.map((part) => part.replace(/^:(\w+)$/, '{$1}')).join('/')}`);
      }
    }
  return routes;
}
