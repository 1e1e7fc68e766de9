// What "npm run cluster" prints when everything has started.
export async function summary(cluster, { isTemporary, abort }) {
  const cells = await Promise.all(cluster.cells.map((cell) => describe(cell, cluster.brokers, abort)));
  const data = `${cluster.directory}${isTemporary ? ' (removed at the end)' : ''}`;
  return `
Two cells are ready.

${cells.join('\n')}
Kafka       ${cluster.brokers}
all topics  node docs/read-topics.mjs ${cluster.brokers} ${cluster.cells.map(({ name }) => `${name}.`).join(' ')}
data, logs  ${data}
addresses   ${cluster.directory}/cluster.json

Stop: Ctrl-C
`;
}

async function describe(cell, brokers, abort) {
  const { name, inbound, dashboard, host, database, secrets } = cell;
  const primary = await database.untilPrimary({ abort });
  const body = {
    email: 'jane@example.com',
    event: 'purchase',
    value: 129.9,
    currency: 'EUR',
    orderId: `ORD-${Date.now()}`,
  };
  return `${name}
  inbound     ${inbound}/__cc/inbound, also for the host ${host}
  dashboard   ${dashboard} (admin@localhost, password ${secrets.adminPassword})
  send        curl ${inbound}/__cc/inbound -H 'X-CC-Api-Key: ${secrets.apiKey}' -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'
  topics      node docs/read-topics.mjs ${brokers} ${name}.
  servers     patronictl -c ${primary.configFile} list
  fail over   kill -9 ${primary.pid} $(head -n 1 ${primary.pidFile})
  PostgreSQL  psql '${database.proxyUrl}'
`;
}
