import { placeholderText, requestNote, requestText } from './delivery-request-view.js';

const requestTo = (url: string) => ({ method: 'POST' as const, url, headers: {}, body: '{}', curl: `curl '${url}'` });
const TOKEN = { name: 'TOKEN', description: 'token of the connection.' };

describe('the request of a delivery', () => {
  it('is a line for each request', () => {
    const requests = [requestTo('https://one.example'), requestTo('https://two.example')];
    expect(requestText({ requests })).toBe("curl 'https://one.example'\n\ncurl 'https://two.example'");
  });

  it('says whether it is as sent, and that running it sends it again', () => {
    const requests = [requestTo('https://one.example')];
    expect(requestNote({ exact: true, requests }, 'Meta')).toBe(
      'The payload is exactly as sent. Running it sends the conversion to Meta once more.',
    );
    expect(requestNote({ exact: false, requests: [...requests, ...requests] }, 'X')).toMatch(
      /^The payload was rebuilt;.* X gets it in 2 requests\./,
    );
  });

  it('says why the service would not send it now', () => {
    const request = { exact: true, requests: [requestTo('https://one.example')] };
    expect(requestNote({ ...request, refused: 'consent_denied' }, 'Meta')).toMatch(
      /The service would not send it now: there is no consent, and the site sends nothing then\. Running it/,
    );
    expect(requestNote({ ...request, refused: 'too_old' }, 'Meta')).toMatch(/would not send it now: it is too old/);
  });

  it('says where the value of a placeholder is encoded', () => {
    const inUrl = [requestTo('https://one.example?token=$TOKEN')];
    const other = [requestTo('https://one.example?token=$TOKEN_2')];
    expect(placeholderText(TOKEN, { requests: inUrl })).toBe('token of the connection. Encoded for a URL.');
    expect(placeholderText(TOKEN, { requests: other })).toBe('token of the connection.');
  });
});
