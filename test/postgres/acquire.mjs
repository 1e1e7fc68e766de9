// A separate process that uses the embedded server until it receives a message or is killed.
// Arguments: the compiled module, the data folder.
const [modulePath, dataDir] = process.argv.slice(2);
const { acquireEmbeddedServer } = await import(modulePath);

try {
  const server = await acquireEmbeddedServer({ dataDir, onMessage: () => {} });
  process.once('message', async () => {
    await server.release();
    process.disconnect();
  });
  process.send({ host: server.host });
} catch (error) {
  process.send({ error: error.message });
  process.disconnect();
}
