import { requestHeaders, responseHeaders } from './forwarded-headers.js';

const client = {
  ...{ host: 'shop.example', address: '203.0.113.9', by: 'a', hasBody: true },
  country: { header: 'cf-ipcountry', value: undefined },
};
const own = {
  ...{ host: 'shop.example', 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https', 'x-cc-forwarded-by': 'a' },
};

describe('requestHeaders', () => {
  it('passes on the key, cookies and the length of the body', () => {
    const received = { 'x-cc-api-key': 'key', cookie: '_ccv=1; b=2', 'content-length': '7', 'content-type': 'a/b' };
    expect(requestHeaders({ ...received, host: 'x' }, client)).toEqual({ ...received, ...own });
  });

  it('passes on nothing that the client says about itself or about proxies', () => {
    const forged = {
      ...{ 'x-forwarded-for': '198.51.100.7', 'x-forwarded-host': 'other.example', 'x-forwarded-proto': 'http' },
      ...{ forwarded: 'for=198.51.100.7', 'x-real-ip': '198.51.100.7', via: '1.1 x', 'cf-ipcountry': 'DE' },
      ...{ 'x-forwarded-port': '1', 'x-cc-forwarded-by': 'z' },
    };
    expect(requestHeaders(forged, client)).toEqual(own);
  });

  it('passes on the country that a trusted proxy has stated', () => {
    const country = { header: 'cf-ipcountry', value: 'FR' };
    expect(requestHeaders({ 'cf-ipcountry': 'DE, FR' }, { ...client, country })).toEqual({
      ...own,
      'cf-ipcountry': 'FR',
    });
  });

  it('leaves out what belongs to the connection, but not the length', () => {
    const received = {
      ...{ connection: 'close, X-Own, Content-Length, host', 'x-own': '1', 'content-length': '7', te: 'trailers' },
      ...{ 'keep-alive': 'timeout=5', 'transfer-encoding': 'chunked', upgrade: 'h2c', expect: '100-continue' },
    };
    expect(requestHeaders(received, client)).toEqual({ ...own, 'content-length': '7' });
  });

  it('states no length of a body that is not sent', () => {
    expect(requestHeaders({ 'content-length': '7' }, { ...client, hasBody: false })).toEqual(own);
  });
});

describe('responseHeaders', () => {
  it('keeps each cookie, and leaves out what belongs to the connection', () => {
    const kept = {
      'set-cookie': ['a=1', 'b=2'],
      'retry-after': '2',
      'content-encoding': 'gzip',
      'content-length': '3',
    };
    expect(responseHeaders({ ...kept, connection: 'keep-alive', 'keep-alive': 'timeout=65' })).toEqual(kept);
  });
});
