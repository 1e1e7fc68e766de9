import { readElsewhere } from '../../moves/sites-elsewhere.js';
import { listOtherCells } from '../../sites/other-cells.js';
import type { DoctorDependencies, Finding } from './check.js';

/** Fails while another cell has a site of this one, and while one cannot be asked: then a site may be in two cells. */
export async function cells({ postgres, settings }: DoctorDependencies): Promise<Finding> {
  const elsewhere = await readElsewhere(postgres.pool);
  const listed = await listOtherCells(settings.otherCells);
  const silent = listed.filter(({ problem }) => problem !== undefined);
  const details = [
    ...elsewhere.map(({ site, cell }) => `cell ${cell} has ${site}, which this log does not know`),
    ...silent.map(({ name, problem }) => `cell ${name} is silent. ${problem}`),
  ];
  if (details.length === 0)
    return { ok: true, detail: listed.length === 0 ? 'CELLS is not set' : `${listed.length} asked` };
  const fix =
    elsewhere.length > 0
      ? 'Let the DNS names of these sites lead to the cells that have them; docs/operate.md, "A site in two cells", tells what else to do.'
      : 'Check that these cells run, their addresses in CELLS and their tokens in CELL_TOKENS.';
  return { ok: false, detail: details.join('; '), fix };
}
