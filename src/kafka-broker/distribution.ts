import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf, UserError } from '../kernel/errors.js';

const KAFKA_VERSION = '4.3.1';
const JAVA_MIN = 17;
const DOWNLOADED_WITHIN_MS = 10 * 60_000;

/** Kafka's server as its authors publish it, and a binding for its log lines, without which it says nothing at all. */
const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>clean-conversions</groupId><artifactId>kafka-broker</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${KAFKA_VERSION}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`;

/** What this machine lacks to run a broker, and how to get it; undefined when it lacks nothing. */
export function missingForBroker(): string | undefined {
  const java = versionOf('java', ['-version'], /version "(\d+)/);
  if (java === undefined || java < JAVA_MIN) {
    return `Java ${JAVA_MIN} or later is needed to run a broker (Debian: apt-get install openjdk-17-jre-headless)`;
  }
  if (!existsSync(librariesFolder()) && versionOf('mvn', ['-version'], /Maven (\d+)/) === undefined) {
    return "Maven is needed to get Kafka's own jars, once (Debian: apt-get install maven)";
  }
  return undefined;
}

/**
 * Every jar of the broker, as a class path. Got by Maven at the first call (45 MB), from then on out of the cache, which
 * lies outside of every checkout and is shared by them.
 */
export async function brokerClassPath(say: (line: string) => void): Promise<string> {
  const missing = missingForBroker();
  if (missing) throw new UserError(`${missing}.`);
  const folder = librariesFolder();
  if (!existsSync(folder)) await download(folder, say);
  const jars = readdirSync(folder).filter((file) => file.endsWith('.jar'));
  return jars
    .sort()
    .map((jar) => join(folder, jar))
    .join(':');
}

async function download(folder: string, say: (line: string) => void): Promise<void> {
  // Beside its place until it is whole: whoever comes meanwhile gets all of it or makes his own.
  const partly = `${folder}.${process.pid}`;
  mkdirSync(partly, { recursive: true });
  const pom = join(partly, 'pom.xml');
  writeFileSync(pom, POM);
  say(`Getting Apache Kafka ${KAFKA_VERSION} from Maven Central (once, 45 MB) …`);
  const args = ['-B', '-q', '-f', pom, 'dependency:copy-dependencies', '-DincludeScope=runtime'];
  try {
    await promisify(execFile)('mvn', [...args, `-DoutputDirectory=${partly}`], { timeout: DOWNLOADED_WITHIN_MS });
    renameSync(partly, folder);
  } catch (error) {
    rmSync(partly, { recursive: true, force: true });
    if (existsSync(folder)) return;
    throw new UserError(`Kafka could not be got: ${messageOf(error)}. Check the way to Maven Central and try again.`);
  }
}

function librariesFolder(): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(cache, 'clean-conversions', `kafka-${KAFKA_VERSION}`);
}

/** The major version that a program says it has; undefined when it cannot be run. */
function versionOf(program: string, args: readonly string[], pattern: RegExp): number | undefined {
  try {
    // Java says it on standard error.
    const said = execFileSync('sh', ['-c', `${program} ${args.join(' ')} 2>&1`], { encoding: 'utf8' });
    const version = pattern.exec(said)?.[1];
    return version === undefined ? undefined : Number(version);
  } catch {
    return undefined;
  }
}
