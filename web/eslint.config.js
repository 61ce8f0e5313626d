import js from "@eslint/js";
import jsxA11y from "eslint-plugin-jsx-a11y";
import reactHooks from "eslint-plugin-react-hooks";
import globals from "globals";
import tseslint from "typescript-eslint";

const PAGES = ["overview", "queue", "task", "workflows", "dead-letters", "daemons", "queues", "breakers", "add", "admin"];

export default tseslint.config(
  { ignores: ["node_modules", "src/api/schema.gen.ts"] },
  js.configs.recommended,
  ...tseslint.configs.strict,
  ...tseslint.configs.stylistic,
  jsxA11y.flatConfigs.recommended,
  reactHooks.configs.flat.recommended,
  {
    files: ["src/**/*.{ts,tsx}"],
    languageOptions: { globals: globals.browser },
    rules: {
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-restricted-syntax": [
        "error",
        {
          selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']",
          message: "Every text from a task is shown as text.",
        },
        {
          selector: "JSXOpeningElement[name.name='style']",
          message: "The content security policy lets no inline style element through.",
        },
        {
          selector: "CallExpression[callee.name='setInterval']",
          message: "Live by the event stream, not by a timer; what must tick uses `useNow`.",
        },
      ],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/consistent-type-definitions": "off",
      "@typescript-eslint/no-non-null-assertion": "error",
      // The tables' library hands out functions that a compiler could not remember; nothing compiles here.
      "react-hooks/incompatible-library": "off",
      // Tables and meters wrap what they name; the roles are given where the elements are not native.
      "jsx-a11y/no-noninteractive-tabindex": "off",
      "jsx-a11y/label-has-associated-control": ["error", { assert: "either", depth: 3, controlComponents: ["Select", "Field"] }],
    },
  },
  // Nothing imports from another page's directory: what two pages share lives in ui/, api/ or words.ts.
  ...PAGES.map((page) => ({
    files: [`src/pages/${page}/**/*.{ts,tsx}`],
    rules: {
      "no-restricted-imports": [
        "error",
        { patterns: PAGES.filter((other) => other !== page).map((other) => ({ group: [`**/pages/${other}/**`] })) },
      ],
    },
  })),
  { files: ["*.config.{js,ts}"], languageOptions: { globals: globals.node } },
);
