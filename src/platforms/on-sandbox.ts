/** Whether nothing leaves the machine: the sandbox of the service stands in for the platform of a connection. */
export function isOnSandbox(
  { endpoint }: { readonly endpoint?: string | undefined },
  sandboxUrl: string | undefined,
): boolean {
  return sandboxUrl !== undefined && endpoint?.startsWith(`${sandboxUrl}/`) === true;
}
