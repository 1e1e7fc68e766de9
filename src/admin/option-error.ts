interface RequestError {
  readonly detail: string;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
}

/** Options of commands that are fields of a request with the same name. */
const FIELDS = ['url', 'secret', 'name', 'overlap'];

/** A message that names an option of a command, `--set pixel_id: …`, for those who have sent a request instead. */
export function optionError(message: string): RequestError {
  const { setting, option, problem } =
    /^--(?:set (?<setting>\S+)|(?<option>[a-z-]+)): (?<problem>.+)$/s.exec(message)?.groups ?? {};
  if (problem === undefined) return { detail: message };
  const name = setting ?? (option as string).replaceAll('-', ' ');
  const field = setting === undefined ? name : `settings.${setting}`;
  const isField = setting !== undefined || FIELDS.includes(name);
  return { detail: `${name}: ${problem}`, ...(isField && { errors: [{ field, message: problem }] }) };
}
