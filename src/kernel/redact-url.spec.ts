import { isRedactedUrl, redactUrl } from './redact-url.js';

describe('redactUrl', () => {
  it.each([
    ['https://hooks.example/in?token=abc&v=1', 'https://hooks.example/in?token=***&v=***'],
    ['https://hooks.example/in?abcdef', 'https://hooks.example/in?***'],
    ['https://user:pass@hooks.example/in', 'https://***@hooks.example/in'],
    ['https://hooks.example/in#secret', 'https://hooks.example/in#***'],
    [
      'https://hooks.slack.example/services/T024BE7LD/B01ABCDEF/abcdefghijklmnopqrstuvwx',
      'https://hooks.slack.example/services/***/***/***',
    ],
    ['https://chat.example/api/webhooks/1234567890/aB3dEf9-xYz_9kL', 'https://chat.example/api/webhooks/***/***'],
    ['https://api.example/bot12345:AAEabc/send', 'https://api.example/***/send'],
    ['https://n8n.example/webhook/2985e29e-6b9b-8761-ad1f-fb305381f92b', 'https://n8n.example/webhook/***'],
    ['https://hooks.example/catch/abcde1f/', 'https://hooks.example/catch/***/'],
    ['https://hooks.example/a%2Fb', 'https://hooks.example/***'],
  ])('hides what may be a secret in %s', (url, redacted) => {
    expect(redactUrl(url)).toBe(redacted);
    expect(isRedactedUrl(redacted)).toBe(true);
    expect(redactUrl(redacted)).toBe(redacted);
  });

  it.each([
    'https://hooks.shop.example/totals',
    'https://hooks.shop.example',
    'https://Hooks.Shop.example/',
    'http://127.0.0.1:8080/hook',
    'https://hooks.example/v1/conversion-totals/2026-03',
    'https://hooks.example/__cc/push?site=',
  ])('keeps %s', (url) => {
    expect(redactUrl(url)).toBe(url);
    expect(isRedactedUrl(url)).toBe(false);
  });
});
