import { AllowedMethods } from './allowed-methods.js';

describe('allowed methods', () => {
  const methods = new AllowedMethods({
    '/api/v1/sites': { get: {}, post: {} },
    '/api/v1/sites/{site}': { get: {}, delete: {}, parameters: [] },
    '/api/v1/sites/{site}/webhook/test': { post: {} },
  });

  it.each([
    ['/api/v1/sites', ['GET', 'POST', 'HEAD']],
    ['/api/v1/sites/shop.example', ['GET', 'DELETE', 'HEAD']],
    ['/api/v1/sites/shop.example/webhook/test', ['POST']],
    ['/api/v1/sites/shop.example/other', []],
    ['/api/v1/sitesX', []],
    ['/other/api/v1/sites', []],
  ])('are those of the routes with the path %s', (path, expected) => {
    expect(methods.of(path)).toEqual(expected);
  });
});
