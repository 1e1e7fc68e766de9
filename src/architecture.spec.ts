import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** The rooms from the ground up. A room may use those below it and itself; what is not named here stands on top of all. */
const FLOORS = [
  ['kernel'],
  ['http', 'postgres', 'platforms', 'tag'],
  ['log'],
  ['sites', 'kafka'],
  ['dispatch'],
  ['visitors'],
  ['conversions', 'outbound'],
  ['history'],
  ['operations', 'cli', 'sandbox', 'kafka-broker'],
];

const src = join(process.cwd(), 'src');
const files = readdirSync(src, { recursive: true })
  .map(String)
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'));
const text = (file: string) => readFileSync(join(src, file), 'utf8');
const roomOf = (file: string) => (file.includes('/') ? (file.split('/')[0] as string) : '');
const floorOf = (room: string) => {
  const floor = FLOORS.findIndex((rooms) => rooms.includes(room));
  return floor === -1 ? FLOORS.length : floor;
};

describe('the house', () => {
  it('has a floor for every folder', () => {
    const rooms = new Set(files.map(roomOf).filter((room) => room !== ''));
    expect([...rooms].filter((room) => floorOf(room) === FLOORS.length)).toEqual([]);
  });

  it('has arrows that point down only', () => {
    const upward: string[] = [];
    for (const file of files) {
      for (const [, target] of text(file).matchAll(/from '(\.{1,2}\/[^']+)'/g)) {
        const imported = relative(src, join(src, dirname(file), target as string));
        const [here, there] = [roomOf(file), roomOf(imported)];
        if (here !== there && floorOf(there) >= floorOf(here)) upward.push(`${file} → ${imported}`);
      }
    }
    // The command line and the service put everything together; what they share stands at the top.
    expect(upward.filter((arrow) => !/^(cli\/|[a-z-]+\.(module\.)?ts)/.test(arrow))).toEqual([]);
  });

  it('asks for events in the log’s own room only', () => {
    const asking = files.filter((file) => /FROM cc\.events|INTO cc\.events/.test(text(file)));
    expect(asking.filter((file) => !file.startsWith('log/') && !file.startsWith('postgres/migrations/'))).toEqual([]);
  });

  it('keeps the framework and the mapper out of the log’s hot path, and business words out of the log', () => {
    for (const file of files.filter((file) => file.startsWith('log/') && file !== 'log/log.module.ts')) {
      const code = text(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
      expect(code).not.toMatch(/from '(typeorm|@nestjs)/);
      expect(code).not.toMatch(/conversion|platform|consent/i);
    }
  });
});
