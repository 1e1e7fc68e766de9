// Builds src/dashboard/browser into dist/dashboard/browser with Vite. A plugin of `nest build` (see nest-cli.json), so that
// every build contains the dashboard. CommonJS, because Nest loads plugins with `require`.
const { execFileSync } = require('node:child_process');
const { join } = require('node:path');

/** Nest's plugin hook. Runs once before the compiler emits; the returned transformer changes nothing. */
exports.before = (_options, program) => {
  // Vite builds asynchronously, and the hook has to finish before it returns: hence a process of its own.
  const outDir = join(program.getCompilerOptions().outDir, 'dashboard', 'browser');
  execFileSync(process.execPath, [__filename, outDir], { stdio: ['ignore', 'inherit', 'inherit'] });
  return () => (source) => source;
};

async function buildDashboard(outDir) {
  const { build } = await import('vite');
  await build({
    configFile: false,
    root: join(__dirname, 'browser'),
    logLevel: 'warn',
    build: {
      outDir,
      emptyOutDir: true,
      // A data: URL would need an exception in the content security policy.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      target: ['chrome123', 'firefox120', 'safari17.5'],
    },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  });
}

if (require.main === module) {
  buildDashboard(process.argv[2]).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}
