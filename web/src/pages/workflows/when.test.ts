import { expect, test } from "vitest";

import { cronWords, whenOf } from "./when";

test.each([
  ["0 8 * * mon-fri", "Monday to Friday at 08:00"],
  ["0 8 * * 1-5", "Monday to Friday at 08:00"],
  ["30 6 * * mon", "Every Monday at 06:30"],
  ["0 9,17 * * 1,4", "Every Monday and Thursday at 09:00 and 17:00"],
  ["0 0 * * *", "Every day at 00:00"],
  ["0 * * * *", "Every hour"],
  ["15 */2 * * *", "Every 2 hours, 15 minutes past"],
  ["*/15 * * * *", "Every 15 minutes"],
  ["*/15 9-17 * * 1-5", "Every 15 minutes from 09:00 to 17:59, Monday to Friday"],
  ["0 5 1 * *", "On the 1st of every month at 05:00"],
  ["0 5 L * *", "On the last day of every month at 05:00"],
  ["0 5 22,23 dec *", "On the 22nd and 23rd of December at 05:00"],
  ["0 5 * 6-8 sun", "Every Sunday in June to August at 05:00"],
  ["* * * * *", "Every minute"],
])("%s is said as: %s", (cron, words) => {
  expect(cronWords(cron)).toBe(words);
});

test.each(["0 5 13 * 5", "0 5 * * 1#2", "5,10,15 1,2,3 * * *", "0 5 LW * *", "61 * * * *", "*/45 * * * *", "0 */5 * * *", "*/0 * * * *", "1 2 3", ""])(
  "of %s nothing is said that could be wrong",
  (cron) => {
    expect(cronWords(cron)).toBeNull();
  },
);

test("an interval is said with its unit", () => {
  expect(whenOf({ cron: null, every: "15m" })).toBe("Every 15 minutes");
  expect(whenOf({ cron: null, every: "1d" })).toBe("Every day");
  expect(whenOf({ cron: "0 5 13 * 5", every: null })).toBe("0 5 13 * 5");
});
