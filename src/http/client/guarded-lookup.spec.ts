import type { lookup } from 'node:dns';
import { AddressRefused, guardedLookup } from './guarded-lookup.js';

/** A name server that returns one list after the other, for any name. */
function answering(...answers: readonly (readonly string[])[]): typeof lookup {
  let turn = 0;
  return ((_: string, __: object, callback: (error: null, addresses: object[]) => void) => {
    const addresses = answers[turn] ?? [];
    turn += 1;
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  }) as never;
}

function ask(lookupGlobal: ReturnType<typeof guardedLookup>, all: boolean): Promise<unknown> {
  return new Promise((resolve, reject) => {
    lookupGlobal('receiver.example', { all }, (error, address, family) => {
      if (error) reject(error);
      else resolve(all ? address : { address, family });
    });
  });
}

describe('guardedLookup', () => {
  it('returns only the global addresses of a name', async () => {
    const answer = ['10.0.0.1', '8.8.8.8', '::1', '2606:4700:4700::1111', '::ffff:127.0.0.1'];
    const lookupGlobal = guardedLookup(answering(answer, answer));
    expect(await ask(lookupGlobal, true)).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700:4700::1111', family: 6 },
    ]);
    expect(await ask(lookupGlobal, false)).toEqual({ address: '8.8.8.8', family: 4 });
  });

  it.each([true, false])('rejects a name without a global address (all: %p)', async (all) => {
    const lookupGlobal = guardedLookup(answering(['127.0.0.1', 'fd00::1']));
    await expect(ask(lookupGlobal, all)).rejects.toBeInstanceOf(AddressRefused);
  });

  it('checks every lookup: rejects a name that was global before and is not now', async () => {
    const lookupGlobal = guardedLookup(answering(['8.8.8.8'], ['127.0.0.1']));
    await ask(lookupGlobal, true);
    await expect(ask(lookupGlobal, true)).rejects.toBeInstanceOf(AddressRefused);
  });

  it('passes on the error of an unknown name', async () => {
    const unknown = Object.assign(new Error(), { code: 'ENOTFOUND' });
    const lookupGlobal = guardedLookup(((_: string, __: object, callback: (error: Error) => void) =>
      callback(unknown)) as never);
    await expect(ask(lookupGlobal, true)).rejects.toBe(unknown);
  });
});
