import { isAlias, LineCounter, type Node, parseDocument, visit } from 'yaml';
import { UserError } from '../../kernel/errors.js';
import { PLATFORM_NAMES, type Platform } from '../platform.js';
import { compileDefinition, definedPlatform } from './compile.js';
import { definitionSchema } from './definition-schema.js';

export const DEFINITION_MAX_BYTES = 16 * 1024;
const PROBLEMS_MAX = 20;

/** Reads a definition, YAML or JSON, and compiles it. Throws a `UserError` with a line for each problem. */
export function parseDefinition(text: string, file: string): Platform {
  if (Buffer.byteLength(text) > 4 * DEFINITION_MAX_BYTES) throw tooLarge(file);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: true, stringKeys: true });
  const [broken] = [...document.errors, ...document.warnings];
  if (broken) throw refused([`${file}:${broken.linePos?.[0].line ?? 1}: ${broken.message.split('\n')[0]}`]);
  const lineAt = (path: readonly PropertyKey[]): number => {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = (length === 0 ? document.contents : document.getIn(path.slice(0, length), true)) as Node | undefined;
      if (node?.range) return lines.linePos(node.range[0]).line;
    }
    return 1;
  };
  visit(document, {
    Alias: (_, node) => {
      throw refused([`${file}:${lines.linePos(node.range?.[0] ?? 0).line}: anchors and aliases are not supported`]);
    },
    Pair: (_, { key }) => {
      if (String(key) === '__proto__') throw refused([`${file}: __proto__ is no name of a field`]);
    },
  });
  if (isAlias(document.contents)) throw refused([`${file}:1: must be an object`]);
  const parsed = definitionSchema.safeParse(document.toJS());
  if (!parsed.success)
    throw refused(
      parsed.error.issues.map(({ path, message, code, ...issue }) => {
        const key = code === 'unrecognized_keys' ? ((issue as { keys?: string[] }).keys?.[0] ?? '') : undefined;
        const at = key === undefined ? path : [...path, key];
        const what = key === undefined ? message.replace(/^Invalid input: /, '') : 'is no part of a definition';
        return `${file}:${lineAt(at)}: ${at.join('.') || 'definition'}: ${what}`;
      }),
    );
  const definition = parsed.data;
  const canonical = JSON.stringify(definition);
  if (Buffer.byteLength(canonical) > DEFINITION_MAX_BYTES) throw tooLarge(file);
  const { problems } = compileDefinition(definition, canonical);
  const clash = (PLATFORM_NAMES as readonly string[]).includes(definition.name)
    ? [{ path: ['name'], text: `${definition.name} is a platform that is built in` }]
    : [];
  const all = [...clash, ...problems];
  if (all.length > 0)
    throw refused(all.map(({ path, text: problem }) => `${file}:${lineAt(path)}: ${path.join('.')}: ${problem}`));
  return definedPlatform(canonical) as Platform;
}

function refused(problems: readonly string[]): UserError {
  const more = problems.length > PROBLEMS_MAX ? [`and ${problems.length - PROBLEMS_MAX} more`] : [];
  return new UserError([...problems.slice(0, PROBLEMS_MAX), ...more].join('\n'));
}

function tooLarge(file: string): UserError {
  return new UserError(`${file} is larger than ${DEFINITION_MAX_BYTES / 1_024} KiB, the maximum of a definition.`);
}
