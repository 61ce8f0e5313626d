import { ChevronDown } from "lucide-react";
import { useState } from "react";

import { useMe, useSignOut } from "~/api/queries/session";
import { Menu } from "~/ui/Menu";
import { toastProblem } from "~/ui/Toasts";

import { ZoneDialog } from "./ZoneDialog";

export function PersonMenu({ onHelp }: { onHelp: () => void }) {
  const me = useMe();
  const signOut = useSignOut();
  const [choosingZone, setChoosingZone] = useState(false);
  return (
    <>
      <Menu
        label={`Signed in as ${me.name}`}
        items={[
          {
            label: "Time zone…",
            onSelect: () => {
              setChoosingZone(true);
            },
          },
          { label: "Keyboard shortcuts", onSelect: onHelp },
          {
            label: "HTTP interface",
            onSelect: () => {
              window.location.assign("/api/docs");
            },
          },
          "line",
          {
            label: "Sign out",
            onSelect: () => {
              signOut.mutate(undefined, { onError: toastProblem });
            },
          },
        ]}
      >
        {/* Drawn, not written: read aloud, or compared with the button's name, a lone letter would only be in the way. */}
        <span
          data-letter={me.name.slice(0, 1)}
          className="flex size-6 items-center justify-center rounded-full bg-accent-soft text-xs font-semibold text-accent uppercase before:content-[attr(data-letter)]"
        />
        <span className="max-w-28 truncate max-md:sr-only">{me.name}</span>
        <ChevronDown aria-hidden className="max-md:hidden" />
      </Menu>
      <ZoneDialog
        open={choosingZone}
        onClose={() => {
          setChoosingZone(false);
        }}
      />
    </>
  );
}
