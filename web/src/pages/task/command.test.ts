import { expect, it } from "vitest";

import type { Task } from "~/api/client";

import { quoted, submitCommand } from "./command";

const PLAIN = {
  type: "code", title: "Fix it", input: "Don't $(stop)", goal: null, constraints: [], context: {}, payload: { n: 1 },
  metadata: {}, model: null, queue: "default", project_id: null, correlation_id: null, priority: "high", depends_on: [],
  requirements: {}, execution: { timeout: 300, max_attempts: 3 },
} as unknown as Task;

it("writes a task as the command that submits it again", () => {
  expect(submitCommand(PLAIN)).toBe(
    `taskyard submit --type code --title 'Fix it' --payload '{"n":1}' --queue default --priority high --timeout 300s --max-attempts 3 -- 'Don'\\''t $(stop)'`,
  );
});

it("names the priority it came with, and a model in place of its queue", () => {
  const command = submitCommand({ ...PLAIN, priority: "critical", raised_from: "low", model: "gpt-5" });
  expect(command).toContain("--priority low");
  expect(command).toContain("--model gpt-5");
  expect(command).not.toContain("--queue");
});

it.each([
  ["plain", "plain"],
  ["", "''"],
  ["`rm`", "'`rm`'"],
  ["two\nlines", "'two\nlines'"],
])("quotes %j for a shell", (text, written) => {
  expect(quoted(text)).toBe(written);
});
