import { ALLOW_PRIVATE, SendFailure } from './send-failure.js';

/**
 * Parses the URL of a call, or throws a failure that explains what is wrong with it. Does not check the address behind a host
 * name: only the socket knows which one it connects to.
 */
export function targetOf(url: string, guarded: boolean): URL {
  const target = parse(url);
  if (!target || (target.protocol !== 'https:' && target.protocol !== 'http:'))
    throw refused('The address to call is not a valid URL. It has to begin with https://.');
  if (target.username !== '' || target.password !== '')
    throw refused(`The address at ${target.host} has a user name or password in it. Leave them out.`);
  if (guarded && target.protocol !== 'https:')
    throw refused(`The address at ${target.host} has to begin with https://. ${ALLOW_PRIVATE}`);
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
