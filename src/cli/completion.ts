import type { Command } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

interface Word {
  readonly text: string;
  readonly description: string;
}

/** What can follow a command, such as `sites add`; the program itself has an empty path. */
interface Place {
  readonly path: string;
  readonly words: readonly Word[];
  /** Values of options that have a fixed list of them. */
  readonly choices: ReadonlyMap<string, readonly string[]>;
}

/** A script that completes the commands and options of the program, from the definitions that its help is made of. */
export function completionScript(program: Command, shell: Shell): string {
  const places = placesOf(program, '');
  return shell === 'fish' ? fishScript(program.name(), places) : shScript(program.name(), places, shell);
}

function placesOf(command: Command, path: string): Place[] {
  const commands = command.commands.map((each) => ({ text: each.name(), description: each.description() }));
  const options = command.options.flatMap(({ long, description }) => (long ? [{ text: long, description }] : []));
  const choices = command.options.flatMap(({ long, argChoices }) =>
    long && argChoices ? [[long, argChoices] as const] : [],
  );
  const values = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((text) => ({ text, description })),
  );
  const help = { text: '--help', description: 'show the usage' };
  const own: Place = { path, words: [...commands, ...values, ...options, help], choices: new Map(choices) };
  return [
    own,
    ...command.commands.flatMap((each) => placesOf(each, path === '' ? each.name() : `${path} ${each.name()}`)),
  ];
}

/** bash and zsh differ in the names of what the shell provides. `path` would be taken for the search path by zsh. */
function shScript(name: string, places: readonly Place[], shell: 'bash' | 'zsh'): string {
  const isBash = shell === 'bash';
  const earlier = isBash ? `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"` : `\${words[2,CURRENT-1]}`;
  const previous = isBash ? `\${COMP_WORDS[COMP_CWORD-1]}` : `\${words[CURRENT-1]}`;
  const offer = (words: readonly string[]) => {
    const list = words.map(quoted).join(' ');
    return isBash ? `offered=(${list})` : `compadd -- ${list}`;
  };
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => quoted(path));
  const valueCases = places.flatMap(({ path, choices }) =>
    [...choices].map(([option, values]) => `    ${quoted(`${path} ${option}`)}) ${offer(values)};;`),
  );
  const wordCases = places.map(
    ({ path, words }) => `        ${quoted(path)}) ${offer(words.map(({ text }) => text))};;`,
  );
  return [
    isBash ? `# bash completion of ${name}` : `#compdef ${name}`,
    `${functionOf(name)}() {`,
    `  local word where=''${isBash ? ' offered=()' : ''}`,
    `  for word in ${earlier}; do`,
    `    case "\${where:+$where }$word" in`,
    `      ${paths.join('|')}) where="\${where:+$where }$word";;`,
    '    esac',
    '  done',
    `  case "$where ${previous}" in`,
    ...valueCases,
    '    *)',
    '      case "$where" in',
    ...wordCases,
    '      esac;;',
    '  esac',
    ...(isBash
      ? [
          '  COMPREPLY=()',
          `  for word in "\${offered[@]}"; do`,
          `    case "$word" in "\${COMP_WORDS[COMP_CWORD]}"*) COMPREPLY+=("$word");; esac`,
          '  done',
        ]
      : []),
    '}',
    isBash ? `complete -o default -F ${functionOf(name)} ${name}` : `compdef ${functionOf(name)} ${name}`,
    '',
  ].join('\n');
}

function fishScript(name: string, places: readonly Place[]): string {
  const at = `${functionOf(name)}_at`;
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => quoted(path));
  const lines = places.flatMap(({ path, words, choices }) =>
    words.map(({ text, description }) => {
      const values = choices.get(text);
      const word = text.startsWith('--') ? `-l ${text.slice(2)}` : `-a ${text}`;
      const list = values ? ` -x -a ${quoted(values.join(' '))}` : '';
      return `complete -c ${name} -n ${quoted(`${at} "${path}"`)} ${word}${list} -d ${quoted(firstLine(description))}`;
    }),
  );
  return [
    `# fish completion of ${name}`,
    `function ${at}`,
    "  set -l where ''",
    '  for word in (commandline -opc)[2..-1]',
    '    set -l next (string trim -- "$where $word")',
    `    contains -- "$next" ${paths.join(' ')}; and set where "$next"`,
    '  end',
    '  test "$where" = "$argv[1]"',
    'end',
    `complete -c ${name} -f`,
    ...lines,
    '',
  ].join('\n');
}

function functionOf(name: string): string {
  return `_${name.replaceAll('-', '_')}`;
}

/** In single quotes, in which nothing is special but the quote itself. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`;
}

function firstLine(text: string): string {
  return text.split('\n')[0] as string;
}
