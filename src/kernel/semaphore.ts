interface Waiting {
  readonly admit: () => void;
  readonly timer: NodeJS.Timeout;
}

/** The work was not started: too much of it is under way. */
export class TooBusy extends Error {
  override readonly name = 'TooBusy';
}

/** Lets a number of pieces of work run at once. Others wait for their turn, and are refused if it does not come in time. */
export class Semaphore {
  private running = 0;
  private readonly waiting: Waiting[] = [];

  constructor(
    private readonly most: number,
    private readonly waitMs: number,
  ) {}

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.running < this.most) this.running += 1;
    else await this.turn();
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      // It takes over the place of this one.
      if (next) next.admit();
      else this.running -= 1;
    }
  }

  private turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(waiting), 1);
        reject(new TooBusy('Too much is being done at the moment'));
      }, this.waitMs);
      const waiting: Waiting = {
        timer,
        admit: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      this.waiting.push(waiting);
    });
  }
}
