import { Writable } from 'node:stream';
import { layoutOf, PLAIN, paint } from './layout.js';

const stream = (isTTY: boolean) => Object.assign(new Writable(), { isTTY, columns: 80 });

describe('the layout of a stream', () => {
  it.each([
    { isTTY: true, env: {}, hasColours: true },
    { isTTY: false, env: {}, hasColours: false },
    { isTTY: true, env: { NO_COLOR: '1' }, hasColours: false },
    { isTTY: true, env: { NO_COLOR: '' }, hasColours: true },
    { isTTY: true, env: { TERM: 'dumb' }, hasColours: false },
    { isTTY: false, env: { FORCE_COLOR: '1' }, hasColours: false },
  ])('has colours: $hasColours, on a terminal: $isTTY, with $env', ({ isTTY, env, hasColours }) => {
    expect(layoutOf(stream(isTTY), env).hasColours).toBe(hasColours);
  });

  it('has a width only on a terminal that states it', () => {
    expect(layoutOf(Object.assign(stream(true), { columns: 0 }), {}).width).toBeUndefined();
    expect([layoutOf(stream(true), {}).width, layoutOf(stream(false), {}).width]).toEqual([80, undefined]);
  });

  it('leaves text as it is without colours', () => {
    expect([paint(PLAIN, 'red', 'text'), paint({ hasColours: true }, 'red', 'text')]).toEqual([
      'text',
      '\u001b[31mtext\u001b[39m',
    ]);
  });
});
