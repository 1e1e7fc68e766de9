import { Logger } from './logger.js';

describe('Logger', () => {
  it('writes one JSON object per line and redacts personal data and secrets', () => {
    const lines: string[] = [];
    const logger = new Logger('info', { write: (line) => lines.push(line) });
    logger.info('hello', {
      email: 'jane@example.com',
      request: { headers: { 'x-cc-api-key': 'cc_secret', authorization: 'Bearer secret' } },
      person: { phone: '+1555', firstName: 'Jane' },
    });
    expect(JSON.parse(lines[0] as string)).toMatchObject({ msg: 'hello', email: '[redacted]' });
    expect(lines[0]).not.toMatch(/jane@|Jane|secret|\+1555/);
  });

  it('drops messages below its level', () => {
    const lines: string[] = [];
    const logger = new Logger('warn', { write: (line) => lines.push(line) });
    logger.info('not this');
    logger.log('nor this');
    logger.warn('but this', { detail: 1 });
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['but this']);
  });
});
