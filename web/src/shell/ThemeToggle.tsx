import { Monitor, Moon, Sun } from "lucide-react";

import { type Theme, themeStore, useTheme } from "~/lib/preferences";
import { IconButton } from "~/ui/IconButton";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const ICONS = { system: Monitor, light: Sun, dark: Moon };
const SAID: Record<Theme, string> = { system: "as the system", light: "light", dark: "dark" };

export function ThemeToggle() {
  const theme = useTheme();
  const Icon = ICONS[theme];
  return (
    <IconButton
      label={`Colours: ${SAID[theme]}. Change to ${SAID[NEXT[theme]]}.`}
      onClick={() => {
        themeStore.set(NEXT[theme]);
      }}
    >
      <Icon />
    </IconButton>
  );
}
