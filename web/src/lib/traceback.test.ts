import { describe, expect, it } from "vitest";

import { parted } from "./traceback";

describe("an error's details", () => {
  it("have their traceback as text, apart from the rest", () => {
    expect(parted({ traceback: "Traceback …", page: 7 })).toEqual({ traceback: "Traceback …", rest: { page: 7 } });
    expect(parted({ traceback: "Traceback …" })).toEqual({ traceback: "Traceback …", rest: {} });
  });

  it("stay as they are without one", () => {
    for (const details of [null, undefined, "text", ["traceback"], { page: 7 }, { traceback: 7 }]) {
      expect(parted(details)).toEqual({ traceback: null, rest: details });
    }
  });
});
