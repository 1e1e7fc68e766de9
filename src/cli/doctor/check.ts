import { messageOf } from '../../kernel/errors.js';

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** What the operator has to do. */
  readonly fix?: string;
}

export type Finding = Omit<Check, 'name'>;

export async function check(name: string, examine: () => Promise<Finding>): Promise<Check> {
  try {
    return { name, ...(await examine()) };
  } catch (error) {
    return { name, ok: false, detail: messageOf(error), fix: 'Fix this error and run "doctor" again.' };
  }
}
