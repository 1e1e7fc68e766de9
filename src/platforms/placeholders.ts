import { randomBytes } from 'node:crypto';

/** A value that a request is shown without. */
export interface Placeholder {
  /** As a variable of a shell, without `$`. */
  readonly name: string;
  /** What it stands for. */
  readonly description: string;
}

/**
 * Stand in for secrets while a request is built, so that no secret is in it. A mark is a random text, which no payload contains,
 * and which is neither escaped in JSON nor encoded in a URL; `redactUrl` takes it for a token.
 */
export class Placeholders {
  /** Names by mark. */
  private readonly names = new Map<string, string>();
  private readonly descriptions = new Map<string, string>();

  /** The mark of a name. One that stands for a pair, such as `user:password`, is a pair as well. */
  mark(name: string, description: string, isPair = false): string {
    const known = [...this.names].find(([, other]) => other === name)?.[0];
    if (known !== undefined) return known;
    const random = `PLACEHOLDER${randomBytes(12).toString('hex')}`;
    const mark = isPair ? `${random}:${random}` : random;
    this.names.set(mark, name);
    if (isPair) this.names.set(encodeURIComponent(mark), name);
    this.descriptions.set(name, description);
    return mark;
  }

  /** The parts of a text between marks, and the names of the marks: every second part is a name. */
  split(text: string): string[] {
    if (this.names.size === 0) return [text];
    const parts = text.split(new RegExp(`(${[...this.names.keys()].join('|')})`));
    return parts.map((part, index) => (index % 2 === 1 ? (this.names.get(part) as string) : part));
  }

  /** With `$NAME` in place of each mark. */
  shown(text: string): string {
    return this.split(text)
      .map((part, index) => (index % 2 === 1 ? `$${part}` : part))
      .join('');
  }

  isIn(text: string): boolean {
    return this.split(text).length > 1;
  }

  /** Those in any of the texts, each once. */
  in(texts: readonly string[]): Placeholder[] {
    const used = new Set(texts.flatMap((text) => this.split(text).filter((_, index) => index % 2 === 1)));
    return [...used].map((name) => ({ name, description: this.descriptions.get(name) as string }));
  }
}
