/** Vite writes the file beside the script; the import is its address. */
declare module '*.svg' {
  const address: string;
  export default address;
}
