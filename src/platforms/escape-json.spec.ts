import { escapeJson } from './escape-json.js';

describe('escapeJson', () => {
  it('escapes what a terminal would obey or hide, in the same JSON', () => {
    const value = { orderId: 'A\x7f\x9b\u2028\u202e\\\u200b\u{e0001}é' };
    const json = escapeJson(JSON.stringify(value));
    expect(json).toBe(String.raw`{"orderId":"A\u007f\u009b\u2028\u202e\\\u200b\udb40\udc01é"}`);
    expect(JSON.parse(json)).toEqual(value);
  });
});
