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
    enforce: "post",
    generateBundle(_options, bundle) {
      for (const [name, file] of Object.entries(bundle)) {
        const source = Buffer.from(file.type === "chunk" ? file.code : file.source);
        if (!PACKED.test(name) || source.length < PACKED_BYTES_MIN) continue;
        this.emitFile({ type: "asset", fileName: `${name}.gz`, source: gzipSync(source, { level: 9 }) });
        const params = { [constants.BROTLI_PARAM_QUALITY]: 11 };
        this.emitFile({ type: "asset", fileName: `${name}.br`, source: brotliCompressSync(source, { params }) });
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
