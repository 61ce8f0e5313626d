// Submit a task by the types that openapi-typescript made, and print its id.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.ts";

const client = createClient<paths>({
  baseUrl: process.env.HUB ?? "",
  headers: { authorization: `Bearer ${process.env.KEY ?? ""}` },
});

// @ts-expect-error: a field that is not known is noticed before it is sent
export const misspelt: components["schemas"]["Submission"] = { inputs: "generated" };

// A template may have everything else.
export const filled: components["schemas"]["Submission"] = { template: "review", set: { what: "PR 7", n: 7 } };

const { data, error } = await client.POST("/api/v1/tasks", {
  params: { header: { "Idempotency-Key": "by openapi-typescript" } },
  body: {
    input: "by openapi-typescript",
    type: "generated",
    context: { a: [1] },
    priority: 7,
    requirements: { capabilities: ["eyes"] },
  },
});
if (data?.status !== "queued") throw new Error(JSON.stringify(error ?? data));
console.log(data.id);
