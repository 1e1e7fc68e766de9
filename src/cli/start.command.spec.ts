import { isStart } from './start.command.js';

it.each([
  [['start'], true],
  [['start', '--help'], false],
  [['help', 'start'], false],
  [[], false],
])('%j starts the service: %s', (argv, expected) => {
  expect(isStart(argv)).toBe(expected);
});
