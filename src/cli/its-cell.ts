import { UserError } from '../kernel/errors.js';
import { readSettings } from '../kernel/settings/settings.js';
import { SIGN_IN_PLATFORMS } from '../platforms/index.js';
import { cellOf, listOtherCells } from '../sites/other-cells.js';
import { NoSite } from '../sites/site-repository.js';

/** For a site that this cell does not have: an error that names the cell that has it, if one does. Others stay as they are. */
export async function withItsCell(error: unknown, env: NodeJS.ProcessEnv): Promise<unknown> {
  if (!(error instanceof NoSite)) return error;
  const found = cellOf(await listOtherCells(readSettings(env, SIGN_IN_PLATFORMS).otherCells), [error.host]);
  if (!found) return error;
  const { cell, site } = found;
  return new UserError(
    `${site.host} is a site of cell ${cell.name}: run the command there, or use its dashboard at ${cell.url}.`,
  );
}
