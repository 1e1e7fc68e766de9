import { Logger } from '../kernel/logger.js';
import { readableLine } from './terminal-log.js';

describe('a log line on a terminal', () => {
  const shown = (log: (logger: Logger) => void) => {
    const lines: string[] = [];
    log(new Logger('info', { write: (line) => void lines.push(readableLine(line)) }));
    return lines.join('');
  };

  it('is read by a person', () => {
    expect(shown((logger) => logger.info('The management API listens', { url: 'http://localhost:8081' }))).toMatch(
      /^\d\d:\d\d:\d\d {2}The management API listens \(url: http:\/\/localhost:8081\)\n$/,
    );
    expect(shown((logger) => logger.warn('The webhook fails', { attempt: 3, sites: ['a'] }))).toMatch(
      / {2}Warning: The webhook fails \(attempt: 3, sites: \["a"\]\)\n$/,
    );
    expect(shown((logger) => logger.error('Broken', { stack: 'Error: x\n    at y' }))).toMatch(
      / {2}Error: Broken\n {4}at y\n$/,
    );
  });

  it('is redacted, and has no characters that a terminal interprets', () => {
    const text = shown((logger) => logger.info('a\u001b[2Jb', { email: 'jane@example.com', '\u009b': 'c\nd' }));
    expect(text).toContain('a?[2Jb (email: [redacted]');
    expect(text).toContain('c?d');
    expect(text.trimEnd()).not.toMatch(/\p{C}/u);
  });
});
