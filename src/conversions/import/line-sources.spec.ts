import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { openCsv } from './csv-lines.js';
import type { LineSource, ReadOptions } from './import-options.js';
import { openNdjson } from './ndjson-lines.js';
import { type Encoding, openSource } from './source-bytes.js';
import { readTimeZone, type TimeZone } from './time-zone.js';

const options: ReadOptions = {
  map: new Map(),
  defaults: new Map(),
  times: { zone: readTimeZone('UTC') as TimeZone },
};

/** In small pieces, so that every boundary falls into some piece. */
function pieces(bytes: Buffer, size: number): Readable {
  const all: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) all.push(bytes.subarray(at, at + size));
  return Readable.from(all);
}

async function csv(content: string | Buffer, more: Partial<ReadOptions> & { encoding?: Encoding; size?: number } = {}) {
  const bytes = Buffer.from(content as string);
  const source = await openSource('-', pieces(bytes, more.size ?? bytes.length), more.encoding);
  return openCsv(source, { ...options, ...more });
}

async function ndjson(content: string | Buffer, more: Partial<ReadOptions> & { size?: number } = {}) {
  const bytes = Buffer.from(content as string);
  return openNdjson(await openSource('-', pieces(bytes, more.size ?? bytes.length)), { ...options, ...more });
}

async function linesOf(source: LineSource) {
  const lines: { reading: unknown; rejected: string }[] = [];
  for await (const chunk of source.chunks)
    for (const line of chunk) lines.push({ reading: line.reading, rejected: line.rejected('wrong').text });
  return lines;
}

async function numbersOf(source: LineSource): Promise<number[]> {
  const numbers: number[] = [];
  for await (const chunk of source.chunks) for (const line of chunk) numbers.push(line.rejected('wrong').number);
  return numbers;
}

const readings = async (source: LineSource) => (await linesOf(source)).map(({ reading }) => reading);
const bodies = async (source: LineSource) =>
  (await readings(source)).map((reading) => (reading as { body: object }).body);

describe('the lines of a CSV file', () => {
  const EXPORT =
    'E-Mail;Event;Last name\r\njane@x.example;lead;"Doe; the\r\n""second"""\r\n\r\n;;\r\njörg@x.example;lead;\r\n';
  const READ = [
    { email: 'jane@x.example', event: 'lead', lastName: 'Doe; the\r\n"second"' },
    { email: 'jörg@x.example', event: 'lead' },
  ];

  it.each([1, 2, 3, 5, 7, 1_000])('are the same in pieces of %d bytes, with a byte order mark', async (size) => {
    expect(await bodies(await csv(`\ufeff${EXPORT}`, { size }))).toEqual(READ);
  });

  it('have the numbers of their first lines', async () => {
    expect(await numbersOf(await csv(EXPORT, { size: 3 }))).toEqual([2, 6]);
    expect(await numbersOf(await ndjson('{"event":"lead"}\n\n{"event":"sale"}'))).toEqual([1, 3]);
  });

  it('are read in UTF-16 with a mark, and in Windows-1252 when it is stated', async () => {
    const little = Buffer.from(`\ufeff${EXPORT}`, 'utf16le');
    expect(await bodies(await csv(little, { size: 5 }))).toEqual(READ);
    expect(await bodies(await csv(Buffer.from(little).swap16(), { size: 5 }))).toEqual(READ);
    expect(await bodies(await csv(Buffer.from(EXPORT, 'latin1'), { encoding: 'windows-1252' }))).toEqual(READ);
  });

  it('with another encoding than stated are rejected', async () => {
    expect(await readings(await csv(Buffer.from('email,event\njörg@x.example,lead\n', 'latin1')))).toEqual([
      { error: 'email is not valid UTF-8: give --encoding windows-1252' },
    ]);
  });

  it('of Excel may begin with sep=, and have line feeds, carriage returns or tabs', async () => {
    expect(await bodies(await csv('sep=;\r\nemail;event\r\na@x.example;lead\r\n'))).toHaveLength(1);
    expect(await bodies(await csv('email\tevent\ra@x.example\tlead\rb@x.example\tlead'))).toHaveLength(2);
  });

  it('keep their content in the file of rejected lines, with the reason first', async () => {
    const source = await csv('\ufeffemail;event;note\na@x.example;"l;ead";"x ""y"""\n');
    expect(source.rejectedHeader).toBe('\ufeffrejected_reason;email;event;note\n');
    const [line] = await linesOf(source);
    expect(line?.rejected).toBe('wrong;a@x.example;"l;ead";"x ""y"""\n');
    const again = await csv(source.rejectedHeader + line?.rejected);
    expect(again.rejectedHeader).toBe(source.rejectedHeader);
    expect((await linesOf(again))[0]).toEqual({ ...line, rejected: line?.rejected });
  });

  it('with more fields than the header are rejected, with fewer they are not', async () => {
    expect(await readings(await csv('email,event\na@x.example,lead,12,50\nb@x.example,lead,,\nc@x.example\n'))).toEqual(
      [
        { error: 'the line has 4 fields, and the header 2: quote fields with delimiters' },
        { body: { email: 'b@x.example', event: 'lead' } },
        { body: { email: 'c@x.example' } },
      ],
    );
  });

  it('end at a quote that is not closed, and the error quotes nothing', async () => {
    const source = await csv('email,event\na@x.example,lead\n"b@x.example,lead\nc@x.example,lead\n');
    await expect(linesOf(source)).rejects.toThrow(
      /^Record 3 of the file \(about line \d+\) has a quote that is not closed/,
    );
  });

  it.each([
    ['text', 'x'],
    ['delimiters', ','],
    ['quotes', '""'],
    ['line breaks within quotes', '\n'],
  ])('end at a record with 8 MiB of %s, and the error names the line in which it begins', async (_, unit) => {
    const long = (unit === ',' ? '' : '"') + unit.repeat((8 * 1024 * 1024) / unit.length);
    const source = await csv(`email,event\n\na@x.example,lead\n${long}\nb@x.example,lead\n`, { size: 65_536 });
    await expect(linesOf(source)).rejects.toThrow(/^Record 3 of the file \(about line 4\) is longer than 1024 KiB/);
  });

  it('may be blank for more than 1 MiB', async () => {
    const blank = '\r\n'.repeat(1_000_000);
    expect(await bodies(await csv(`email,event\n${blank}a@x.example,lead\n`, { size: 65_536 }))).toHaveLength(1);
  });

  it('are not written as formulas to the file of rejected lines, and are read back unchanged', async () => {
    const cells = ['=1+1', '+4930901820', '-1', '@SUM(A1)', "'=1", '"\t=1"', "O'Neill"];
    const source = await csv(`email;event;=a;b;c;d;e;f;g\nx@x.example;lead;${cells.join(';')}\n`);
    const [line] = await linesOf(source);
    expect(source.rejectedHeader).toBe("rejected_reason;email;event;'=a;b;c;d;e;f;g\n");
    expect(line?.rejected).toBe(`wrong;x@x.example;lead;'=1+1;'+4930901820;'-1;'@SUM(A1);''=1;'\t=1;O'Neill\n`);
    const map = new Map([
      ['firstName', '=a'],
      ['phone', 'b'],
      ['lastName', 'e'],
    ]);
    const again = await csv(source.rejectedHeader + line?.rejected, { map });
    expect(again.rejectedHeader).toBe(source.rejectedHeader);
    const [read] = await linesOf(again);
    expect(read).toEqual({
      reading: { body: expect.objectContaining({ firstName: '=1+1', phone: '+4930901820', lastName: "'=1" }) },
      rejected: line?.rejected,
    });
  });

  it('need a header with the required columns', async () => {
    await expect(csv('Mail,Art\nx,y\n')).rejects.toThrow(/No column holds email/);
    await expect(csv('\n\n')).rejects.toThrow('The file has no header');
  });
});

describe('the lines of an NDJSON file', () => {
  it.each([1, 3, 1_000])('are the same in pieces of %d bytes', async (size) => {
    const text =
      '{"email":"jörg@x.example","event":"lead","clickIds":{"gclid":"a"}}\r\n\n  \n{"email":"b@x.example","event":"lead"}';
    expect(await bodies(await ndjson(`\ufeff${text}`, { size }))).toEqual([
      { email: 'jörg@x.example', event: 'lead', clickIds: { gclid: 'a' } },
      { email: 'b@x.example', event: 'lead' },
    ]);
  });

  it('are renamed and completed as the operator states', async () => {
    const map = new Map([
      ['email', 'mail'],
      ['clickIds.gclid', 'click'],
    ]);
    const defaults = new Map([
      ['event', 'lead'],
      ['value', '5,50'],
    ]);
    const source = await ndjson('{"mail":"a@x.example","click":"g","event":null}\n', { map, defaults });
    expect((await bodies(source))[0]).toMatchObject({
      email: 'a@x.example',
      clickIds: { gclid: 'g' },
      event: 'lead',
      value: 5.5,
    });
  });

  it('keep every digit in the file of rejected lines, and a reason is replaced', async () => {
    const [line] = await linesOf(await ndjson('{"orderId":12345678901234567890}\n'));
    expect(line?.rejected).toBe('{"rejected_reason":"wrong","orderId":12345678901234567890}\n');
    const [again] = await linesOf(await ndjson('{"rejected_reason":"before","event":"x"}\n{}\n'));
    expect(again?.rejected).toBe('{"rejected_reason":"wrong","event":"x"}\n');
  });

  it.each([
    ['not json', 'the line is not valid JSON'],
    ['[1]', 'the line is not a JSON object'],
    ['{"a":1,"a":2}', 'the line has an object with the same key twice'],
    ['{"a":"\\u0000"}', 'the line has a \\u0000'],
    [`{"a":"${'x'.repeat(2_000_000)}"}`, 'line 2 of the file is longer than 1024 KiB'],
    ['['.repeat(100_000), 'the line is nested more than'],
  ])('%.20s… is rejected and the next line is read', async (text, error) => {
    const lines = await linesOf(await ndjson(`\n${text}\n{"email":"a@x.example"}\n`, { size: 65_536 }));
    expect(lines).toHaveLength(2);
    expect(lines[0]?.reading).toEqual({ error: expect.stringContaining(error) });
    expect(JSON.parse(lines[0]?.rejected as string)).toMatchObject({ rejected_reason: 'wrong' });
  });
});

describe('a source', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cc-source-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('must be a file that exists, is not empty, and is neither compressed nor a workbook', async () => {
    const file = (name: string, content: Buffer | string) => {
      writeFileSync(join(folder, name), content);
      return openSource(join(folder, name), undefined);
    };
    await expect(openSource(join(folder, 'none.csv'), undefined)).rejects.toThrow(/^There is no file/);
    await expect(openSource(folder, undefined)).rejects.toThrow('is a directory. Give a file');
    await expect(file('empty.csv', '')).rejects.toThrow('is empty');
    await expect(file('export.csv', gzipSync('email'))).rejects.toThrow('compressed with gzip');
    await expect(file('export.xlsx', 'PK\u0003\u0004…')).rejects.toThrow('Save the sheet as "CSV UTF-8"');
  });
});
