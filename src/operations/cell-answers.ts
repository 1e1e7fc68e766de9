/**
 * Which of the other cells have answered since the start, or since the last change of lineage. An answer to an earlier question does
 * not count: the log may have lost since that a site left.
 */
export class CellAnswers {
  private generation = 0;
  private silent: Set<string>;

  constructor(private readonly cells: readonly string[]) {
    this.silent = new Set(cells);
  }

  /** Cells that have not answered. */
  get missing(): ReadonlySet<string> {
    return this.silent;
  }

  /** All cells have to be asked again. */
  restart(): void {
    this.generation += 1;
    this.silent = new Set(this.cells);
  }

  /** To be taken before the cells are asked. */
  ask(): Question {
    const asked = this.generation;
    const isCurrent = () => asked === this.generation;
    return {
      isCurrent,
      answered: (cell) => {
        if (isCurrent()) this.silent.delete(cell);
      },
    };
  }
}

export interface Question {
  /** False as soon as the cells have to be asked again. */
  isCurrent(): boolean;
  answered(cell: string): void;
}
