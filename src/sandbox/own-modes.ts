import type { ControlRequest, Memory } from './double.js';

/** Modes of one platform: `{"platform":"tiktok","mode":"partial","times":2}` applies to the next requests that it can apply to. */
export class OwnModes<Mode extends string> {
  private readonly key = 'own modes';

  constructor(
    private readonly platform: string,
    private readonly modes: readonly Mode[],
  ) {}

  control({ mode, times = Number.POSITIVE_INFINITY }: ControlRequest, memory: Memory): string | undefined {
    const left = this.leftIn(memory);
    if (mode === 'ok') {
      left.clear();
      return undefined;
    }
    if (!this.modes.includes(mode as Mode))
      return `The additional modes of ${this.platform} are ${this.modes.join(', ')}.`;
    if (typeof times !== 'number' || !(times >= 1))
      return '"times" is a number of at least 1; without it the mode does not end.';
    left.set(mode as Mode, times);
    return undefined;
  }

  /** Whether the mode applies to this request; counts down its `times`. */
  take(mode: Mode, memory: Memory): boolean {
    const left = this.leftIn(memory);
    const times = left.get(mode);
    if (times === undefined) return false;
    if (times <= 1) left.delete(mode);
    else left.set(mode, times - 1);
    return true;
  }

  private leftIn(memory: Memory): Map<Mode, number> {
    const left = (memory.get(this.key) as Map<Mode, number> | undefined) ?? new Map<Mode, number>();
    memory.set(this.key, left);
    return left;
  }
}
