import { adviceFor, judgeClaims, type OwnSite, PAUSE_ONE } from '../../moves/held-elsewhere.js';
import { readElsewhere } from '../../moves/sites-elsewhere.js';
import { listOtherCells } from '../../sites/other-cells.js';
import { isClosed } from '../../sites/site.js';
import type { SiteRepository } from '../../sites/site-repository.js';
import type { SiteSecrets } from '../../sites/site-secrets.js';
import type { DoctorDependencies, Finding } from './check.js';

/** Fails while another cell has a site of this one, and while one cannot be asked: then a site may be in two cells. */
export async function cells({ postgres, settings, sites, secrets }: DoctorDependencies): Promise<Finding> {
  const elsewhere = await readElsewhere(postgres.pool);
  const listed = await listOtherCells(settings.otherCells);
  const silent = listed.filter(({ problem }) => problem !== undefined);
  const { disputed } = judgeClaims(await openSites(sites, secrets), listed);
  const details = [
    ...elsewhere.map(({ site, cell }) => `cell ${cell} has ${site}, which this log does not know`),
    ...disputed.map(({ site, cell }) => `cell ${cell} has ${site} by the same move as another cell`),
    ...silent.map(({ name, problem }) => `cell ${name} is silent. ${problem}`),
  ];
  if (details.length === 0)
    return { ok: true, detail: listed.length === 0 ? 'CELLS is not set' : `${listed.length} asked` };
  const fix =
    disputed.length > 0
      ? PAUSE_ONE
      : elsewhere.length > 0
        ? `${elsewhere.map((each) => adviceFor(each, listed, settings.cell)).join('. ')}; docs/operate/cells.md, "A site in two cells", tells what else to do.`
        : 'Check that these cells run, their addresses in CELLS and their tokens in CELL_TOKENS.';
  return { ok: false, detail: details.join('; '), fix };
}

async function openSites(sites: SiteRepository, secrets: SiteSecrets): Promise<OwnSite[]> {
  const open = (await sites.all()).filter((site) => !isClosed(site));
  const opened = await secrets.dedupSecrets(open.map(({ host }) => host));
  return open.flatMap((site) => {
    const dedupSecret = opened.get(site.host);
    return dedupSecret === undefined ? [] : [{ site, dedupSecret }];
  });
}
