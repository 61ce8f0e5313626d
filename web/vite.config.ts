import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const PACKED = /\.(js|css|svg|html)$/;
/** Smaller ones do not gain enough to be worth a second file. */
const PACKED_BYTES_MIN = 1024;

/** The gateway serves these beside the plain files, so that no request is spent on compressing. */
function packed(): Plugin {
  return {
    name: "packed",
    apply: "build",
    // From the files as they were written: other plugins still change what `generateBundle` sees.
    writeBundle({ dir = "." }, bundle) {
      for (const name of Object.keys(bundle).filter((one) => PACKED.test(one))) {
        const path = join(dir, name);
        const source = readFileSync(path);
        if (source.length < PACKED_BYTES_MIN) continue;
        writeFileSync(`${path}.gz`, gzipSync(source, { level: 9 }));
        const params = { [constants.BROTLI_PARAM_QUALITY]: 11 };
        writeFileSync(`${path}.br`, brotliCompressSync(source, { params }));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), tailwindcss(), packed()],
  resolve: { alias: { "~": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "../src/taskyard/dashboard",
    emptyOutDir: true,
    target: ["chrome123", "firefox121", "safari17.5"],
    // The content security policy lets only `self` and images in `data:` through.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: { proxy: { "/api": process.env.TASKYARD_URL ?? "http://127.0.0.1:8790" } },
  test: { include: ["src/**/*.test.{ts,tsx}"], environment: "node" },
});
