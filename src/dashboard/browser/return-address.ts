const NAME = 'cc-return';

/** Keeps the address while a sign-in provider has the browser, for this tab. */
export function rememberAddress(): void {
  sessionStorage.setItem(NAME, location.pathname + location.search);
}

/** Where the browser was before it went to the sign-in provider. */
export function takeAddress(): string | undefined {
  const address = sessionStorage.getItem(NAME);
  sessionStorage.removeItem(NAME);
  return address === null || address.startsWith('/sign-in') ? undefined : address;
}
