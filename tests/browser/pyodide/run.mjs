// node run.mjs PYODIDE SCRIPT PLACE=FOLDER ...: run a script in Python for WebAssembly, which finds
// its modules in folders of this machine that are mounted at these places.
import { readFileSync } from "node:fs";
import process from "node:process";

const [folder, script, ...mounts] = process.argv.slice(2);
const { loadPyodide } = await import(`${folder}/pyodide.mjs`);
const python = await loadPyodide({ indexURL: `${folder}/` });
await python.loadPackage(["matplotlib", "scikit-learn"], { messageCallback: () => {} });
for (const mount of mounts) {
  const [place, of] = mount.split("=");
  python.mountNodeFS(place, of);
}
python.runPython(`
import sys
sys.path = ["/stand_ins", "/project", *sys.path, "/site"]
`);
try {
  await python.runPythonAsync(readFileSync(script, "utf8"));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
