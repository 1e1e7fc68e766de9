import { setTimeout as sleep } from 'node:timers/promises';
import type { Cell } from '../kernel/settings/settings.js';
import { listOtherCells, type OtherCell } from './other-cells.js';

/** Shorter than a user notices; long enough for the views that one page, or several users, open at once. */
const FRESH_MS = 5_000;
/** A cell that did not answer the last time is not waited for again: what is known about it is returned. */
const SILENT_WAIT_MS = 300;

interface KnownList {
  readonly list: OtherCell;
  readonly atMs: number;
}

/**
 * The lists of other cells for views, one request per cell at a time. What decides by them, such as a command that adds
 * a host, asks the cells instead.
 */
export class CellLists {
  private readonly known = new Map<string, KnownList>();
  private readonly asking = new Map<string, Promise<OtherCell>>();

  constructor(
    private readonly cells: readonly Cell[],
    private readonly nowMs = () => performance.now(),
    private readonly list = listOtherCells,
  ) {}

  all(): Promise<OtherCell[]> {
    return Promise.all(this.cells.map((cell) => this.listOf(cell)));
  }

  private async listOf(cell: Cell): Promise<OtherCell> {
    const known = this.known.get(cell.name);
    if (known && this.nowMs() - known.atMs < FRESH_MS) return known.list;
    const asked = this.ask(cell);
    if (!known || known.list.sites) return asked;
    return Promise.race([asked, sleep(SILENT_WAIT_MS, known.list, { ref: false })]);
  }

  private ask(cell: Cell): Promise<OtherCell> {
    const { name } = cell;
    const asked =
      this.asking.get(name) ??
      this.list([cell])
        .then(([list]) => {
          this.known.set(name, { list: list as OtherCell, atMs: this.nowMs() });
          return list as OtherCell;
        })
        .finally(() => this.asking.delete(name));
    this.asking.set(name, asked);
    return asked;
  }
}
