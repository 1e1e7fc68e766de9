import { SendFailure } from './send-failure.js';

/**
 * The address of a call, or a failure that says what is wrong with it. Where its socket may lead is not judged here: a
 * name can lead anywhere, and only the socket knows.
 */
export function targetOf(url: string, guarded: boolean): URL {
  const target = parse(url);
  if (!target || (target.protocol !== 'https:' && target.protocol !== 'http:'))
    throw refused('The address to call is not a valid URL. It has to begin with https://.');
  if (target.username !== '' || target.password !== '')
    throw refused(`The address at ${target.host} has a user name or password in it. Leave them out.`);
  if (guarded && target.protocol !== 'https:')
    throw refused(`The address at ${target.host} has to begin with https://.`);
  return target;
}

function parse(url: string): URL | undefined {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
}

function refused(message: string): SendFailure {
  return new SendFailure('address_refused', false, message);
}
