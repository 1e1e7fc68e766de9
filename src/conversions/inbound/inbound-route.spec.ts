import { batchFormatOf, isJsonContentType, routeInbound } from './inbound-route.js';

describe('routeInbound', () => {
  it.each([
    ['POST', '/__cc/inbound', { kind: 'receive' }],
    ['POST', '/__cc/inbound?x=1', { kind: 'receive' }],
    ['POST', '/__cc/inbound/batch', { kind: 'batch' }],
    ['POST', '/__cc/inbound/batch?x=1', { kind: 'batch' }],
    ['GET', '/__cc/inbound/batch', { kind: 'refused', allow: 'POST' }],
    ['POST', '/__cc/inbound/batch/', { kind: 'unknown' }],
    ['GET', '/__cc/inbound/abc', { kind: 'receipt', id: 'abc' }],
    ['GET', '/__cc/inbound?orderId=A%201', { kind: 'receipt', orderId: 'A 1', event: undefined }],
    ['GET', '/__cc/inbound?orderId=A&event=lead', { kind: 'receipt', orderId: 'A', event: 'lead' }],
    ['GET', '/__cc/inbound', { kind: 'refused', allow: 'POST' }],
    ['PUT', '/__cc/inbound', { kind: 'refused', allow: 'POST, GET' }],
    ['DELETE', '/__cc/inbound/abc', { kind: 'refused', allow: 'GET' }],
    ['POST', '/__cc/inbound/abc', { kind: 'refused', allow: 'GET' }],
    ['GET', '/__cc/inbound/', { kind: 'unknown' }],
    ['GET', '/__cc/inbound/a/b', { kind: 'unknown' }],
  ])('routes %s %s to %j', (method, url, route) => {
    expect(routeInbound(method, url)).toEqual(route);
  });
});

describe('isJsonContentType', () => {
  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json; x=y',
  ])('accepts %s', (header) => {
    expect(isJsonContentType(header)).toBe(true);
  });

  it.each([
    undefined,
    '',
    'text/plain',
    'application/jsonp',
    'application/json, text/plain',
    'application/json; charset=latin1',
  ])('rejects %s', (header) => {
    expect(isJsonContentType(header)).toBe(false);
  });
});

describe('batchFormatOf', () => {
  it.each([
    ['application/json', 'array'],
    ['application/json; charset=utf-8', 'array'],
    ['application/x-ndjson', 'lines'],
    ['Application/X-NDJSON; charset=UTF-8', 'lines'],
    ['application/x-ndjson; charset=latin1', undefined],
    ['text/csv', undefined],
    [undefined, undefined],
  ])('reads %s as %s', (header, format) => {
    expect(batchFormatOf(header)).toBe(format);
  });
});
