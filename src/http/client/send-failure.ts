import { AddressRefused } from './guarded-lookup.js';

export type SendFailureKind = 'timeout' | 'network_error' | 'address_refused';

/**
 * A call that brought no answer. The message names the host and what happened, and nothing of the path, the query, the
 * headers or the body: they hold tokens and people's data.
 */
export class SendFailure extends Error {
  override readonly name = 'SendFailure';

  constructor(
    readonly kind: SendFailureKind,
    /** Whether something may have reached the other side. */
    readonly sent: boolean,
    message: string,
  ) {
    super(message);
  }
}

/** What an error before the answer means to somebody who is to mend it. Never repeats the error's own words. */
export function failureOf(error: Error, host: string, sent: boolean): SendFailure {
  if (error instanceof AddressRefused) {
    return new SendFailure(
      'address_refused',
      sent,
      `${host} is not on the public internet. Use a public https address, or set OUTBOUND_ALLOW_PRIVATE=true when ` +
        'receivers on your own network are meant to be called.',
    );
  }
  const code = codeOf(error);
  return new SendFailure('network_error', sent, `${host} ${meaningOf(code)} (${code}).`);
}

const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [/^ENOTFOUND$/, 'has no address: check the name'],
  [/^EAI_/, 'could not be looked up: check the name server'],
  [/^ECONNREFUSED$/, 'refused the connection: check the port, and whether the server is running'],
  [/^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EADDRNOTAVAIL)$/, 'cannot be reached: check the network between'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'closed the connection before it answered: try again'],
  [/^UND_ERR_HEADERS_OVERFLOW$/, 'sent more headers than are read: look at what answers there'],
  [/^(HPE_|HTTPParserError$)/, 'did not answer in HTTP: check the scheme and the port'],
  [/^(ERR_SSL_|EPROTO$)/, 'did not answer in TLS: check the scheme and the port'],
  [/CERT|SIGNATURE|ISSUER|CRL|ALTNAME|PURPOSE/, 'has a certificate that is not trusted: mend it there'],
  [/^UND_ERR_(INVALID_ARG|NOT_SUPPORTED)$/, 'was not called, because a header or the path is not valid HTTP: mend it'],
];

function meaningOf(code: string): string {
  return MEANINGS.find(([codes]) => codes.test(code))?.[1] ?? 'could not be called: try again';
}

function codeOf(error: Error): string {
  // Undici's parser leaves some of its errors without a code.
  const { code, name } = error as NodeJS.ErrnoException;
  return code ?? name;
}
