// Imported for its effect: a process of a test run ends when the one that started it has ended, even if that was killed.
const CHECK_EVERY_MS = 500;

const parent = process.ppid;
setInterval(() => process.ppid !== parent && process.exit(1), CHECK_EVERY_MS).unref();
