import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf, UserError } from '../kernel/errors.js';

const KAFKA_VERSION = '4.3.1';
const JAVA_MIN = 17;
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000;

/** Kafka's server from Maven Central, and an SLF4J binding, without which it writes no log. */
const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>clean-conversions</groupId><artifactId>kafka-broker</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${KAFKA_VERSION}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`;

/** The missing requirement for running a broker and how to install it; undefined if nothing is missing. */
export function missingForBroker(): string | undefined {
  const java = versionOf('java', ['-version'], /version "(\d+)/);
  if (java === undefined || java < JAVA_MIN) {
    return `Running a broker requires Java ${JAVA_MIN} or later (Debian: apt-get install openjdk-17-jre-headless)`;
  }
  if (!existsSync(librariesFolder()) && versionOf('mvn', ['-version'], /Maven (\d+)/) === undefined) {
    return 'Downloading Kafka requires Maven, once (Debian: apt-get install maven)';
  }
  return undefined;
}

/**
 * The class path of the broker. Maven downloads the jars (45 MB) on first use into a cache outside the checkout, which all
 * checkouts share.
 */
export async function brokerClassPath(log: (line: string) => void): Promise<string> {
  const missing = missingForBroker();
  if (missing) throw new UserError(`${missing}.`);
  const folder = librariesFolder();
  if (!existsSync(folder)) await download(folder, log);
  const jars = readdirSync(folder).filter((file) => file.endsWith('.jar'));
  return jars
    .sort()
    .map((jar) => join(folder, jar))
    .join(':');
}

async function download(folder: string, log: (line: string) => void): Promise<void> {
  // Downloaded to a temporary folder and renamed, so that concurrent processes never see an incomplete cache.
  const temporary = `${folder}.${process.pid}`;
  mkdirSync(temporary, { recursive: true });
  const pom = join(temporary, 'pom.xml');
  writeFileSync(pom, POM);
  log(`Downloading Apache Kafka ${KAFKA_VERSION} from Maven Central (once, 45 MB) …`);
  const args = ['-B', '-q', '-f', pom, 'dependency:copy-dependencies', '-DincludeScope=runtime'];
  const downloaded = promisify(execFile)('mvn', [...args, `-DoutputDirectory=${temporary}`], {
    timeout: DOWNLOAD_TIMEOUT_MS,
  });
  // A stop during the download must leave neither Maven nor a part of the jars.
  const abandon = () => {
    downloaded.child.kill('SIGKILL');
    rmSync(temporary, { recursive: true, force: true });
  };
  process.once('exit', abandon);
  try {
    await downloaded;
    renameSync(temporary, folder);
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    if (existsSync(folder)) return;
    throw new UserError(
      `Downloading Kafka failed: ${messageOf(error)}. Check the connection to Maven Central and retry.`,
    );
  } finally {
    process.off('exit', abandon);
  }
}

function librariesFolder(): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(cache, 'clean-conversions', `kafka-${KAFKA_VERSION}`);
}

/** The major version of a program; undefined if it cannot be run. */
function versionOf(program: string, args: readonly string[], pattern: RegExp): number | undefined {
  try {
    // Java prints its version to standard error.
    const output = execFileSync('sh', ['-c', `${program} ${args.join(' ')} 2>&1`], { encoding: 'utf8' });
    const version = pattern.exec(output)?.[1];
    return version === undefined ? undefined : Number(version);
  } catch {
    return undefined;
  }
}
