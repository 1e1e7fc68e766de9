import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './folders.js';
import { startTestBrokers, type TestBrokers } from './kafka.js';

export const USER = 'relay';
export const PASSWORD = 'right-7f3a';
/** A user without rights, until they are granted. The other one has all of them. */
export const CELL_USER = 'north';
const STORE_PASSWORD = 'keystore-password';

export interface SecuredBrokers extends TestBrokers {
  /** PEM file with the certificate authority of the broker, for KAFKA_SSL_CA. */
  readonly ca: string;
  /** PEM file with an unrelated certificate authority. */
  readonly otherCa: string;
}

/** Starts a broker that requires TLS and SASL authentication: PLAIN and both SCRAM variants, for the same user. Others need ACLs. */
export async function startSecuredBrokers(): Promise<SecuredBrokers> {
  const folder = temporaryFolder('cc-kafka-keys-');
  const [own, other] = [makeCertificate(folder, 'own'), makeCertificate(folder, 'other')];
  const scram = ['SCRAM-SHA-256', 'SCRAM-SHA-512'].map((kind) => `${kind}=[name=${USER},password=${PASSWORD}]`);
  const login = `username="${USER}" password="${PASSWORD}"`;
  const properties = {
    // PLAINTEXT is only the name of the listener; its protocol becomes SASL over TLS.
    'listener.security.protocol.map': 'PLAINTEXT:SASL_SSL,CONTROLLER:PLAINTEXT',
    // The broker also connects to itself through this listener.
    'inter.broker.listener.name': 'PLAINTEXT',
    'sasl.mechanism.inter.broker.protocol': 'PLAIN',
    'ssl.keystore.type': 'PKCS12',
    'ssl.keystore.location': own.store,
    'ssl.keystore.password': STORE_PASSWORD,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': own.pem,
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    'listener.name.plaintext.plain.sasl.jaas.config': `org.apache.kafka.common.security.plain.PlainLoginModule required ${login} user_${USER}="${PASSWORD}" user_${CELL_USER}="${PASSWORD}";`,
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    // The controller's listener has no authentication.
    'super.users': `User:${USER};User:ANONYMOUS`,
    'listener.name.plaintext.scram-sha-256.sasl.jaas.config':
      'org.apache.kafka.common.security.scram.ScramLoginModule required;',
    'listener.name.plaintext.scram-sha-512.sasl.jaas.config':
      'org.apache.kafka.common.security.scram.ScramLoginModule required;',
  };
  const brokers = await startTestBrokers(
    1,
    { properties, formatArgs: scram.flatMap((user) => ['--add-scram', user]) },
    {
      ssl: { ca: [readFileSync(own.pem, 'utf8')] },
      sasl: { mechanism: 'plain', username: USER, password: PASSWORD },
    },
  );
  return {
    ...brokers,
    ca: own.pem,
    otherCa: other.pem,
    remove: async () => {
      await brokers.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Creates a self-signed certificate with keytool, which is part of every JDK and JRE. */
function makeCertificate(folder: string, name: string): { store: string; pem: string } {
  const [store, pem] = [join(folder, `${name}.p12`), join(folder, `${name}.pem`)];
  const keystore = ['-alias', name, '-keystore', store, '-storetype', 'PKCS12', '-storepass', STORE_PASSWORD];
  const keytool = (...args: string[]) => execFileSync('keytool', [...args, ...keystore], { stdio: 'pipe' });
  keytool('-genkeypair', '-keyalg', 'EC', '-dname', `CN=${name}`, '-ext', 'SAN=ip:127.0.0.1,dns:localhost');
  keytool('-exportcert', '-rfc', '-file', pem);
  return { store, pem };
}
