import { Controller, Get, Inject } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { CellLists } from '../sites/cell-lists.js';
import { type OtherCell, UNREADABLE } from '../sites/other-cells.js';
import { type Principal, seesSite } from '../users/access.js';
import { Caller, Requires } from './access/access.decorators.js';
import { Returns } from './returns.decorator.js';
import { listOf, siteSchema } from './schemas.js';

const cellSchema = z
  .object({
    name: z.string(),
    url: z.string().meta({ description: 'Of its dashboard and management API. Its sites are changed there.' }),
    sites: z.array(siteSchema).optional().meta({ description: 'Absent if it did not answer.' }),
    problem: z.string().optional().meta({ description: 'Why it did not answer, and what to do.' }),
  })
  .meta({ id: 'Cell' });

@ApiTags('Installation')
@Controller('cells')
export class CellsController {
  private readonly lists: CellLists;

  constructor(@Inject(SETTINGS) { otherCells }: Settings) {
    this.lists = new CellLists(otherCells);
  }

  @Get()
  @Requires('read')
  @ApiOperation({ summary: 'List other cells with their sites' })
  @Returns(listOf(cellSchema), 'The cells in CELLS, each with those of its sites that you may see by their host.')
  async list(@Caller() caller: Principal) {
    const cells = await this.lists.all();
    return { items: cells.map((cell) => shown(cell, caller)) };
  }
}

/** One cell with sites in another form must not make the answer about all of them invalid. */
function shown(cell: OtherCell, caller: Principal): OtherCell {
  const { name, url, sites } = cell;
  if (!sites) return cell;
  if (!z.array(siteSchema).safeParse(sites).success) return { name, url, problem: UNREADABLE };
  return { ...cell, sites: sites.filter(({ host }) => seesSite(caller, host)) };
}
