// What the page runs first: it unpacks the program, which is most of an ordinary page, and runs it.
import { unpack } from "./unpack.js";

try {
  const program = document.createElement("script");
  program.type = "module";
  program.textContent = await unpack("program");
  document.body.append(program);
} catch (error) {
  document.getElementById("app").textContent = `This page cannot be shown. The browser says: ${error.message}. `
    + "Chrome 89, Firefox 113 and Safari 16.4 and later can show it.";
  throw error;
}
