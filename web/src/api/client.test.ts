import { expect, test } from "vitest";

import { cursorOf } from "./client";
import { problemOf } from "./problem";

test("the next page's cursor is in the Link header", () => {
  expect(cursorOf('</api/v1/tasks?limit=50&cursor=abc%3D>; rel="next"')).toBe("abc=");
  expect(cursorOf(null)).toBeNull();
});

test("a refusal keeps its code, its sentence and its fields", async () => {
  const said = { status: 422, code: "INVALID_INPUT", title: "Not valid", detail: "`cron` is not valid.", errors: [{ path: "cron", message: "is not valid" }] };
  const problem = await problemOf(new Response(JSON.stringify(said), { status: 422 }));
  expect([problem.code, problem.message, problem.of("cron"), problem.isPassing]).toEqual(["INVALID_INPUT", "`cron` is not valid.", "is not valid", false]);
});

test("an answer without a reason still says what to do", async () => {
  const problem = await problemOf(new Response("<html>", { status: 502, headers: { "Retry-After": "3" } }));
  expect([problem.code, problem.isPassing, problem.retryAfterS]).toEqual(["HTTP_502", true, 3]);
  expect(problem.message).toContain("Try again");
});
