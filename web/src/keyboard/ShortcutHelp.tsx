import { useStore } from "~/lib/store";
import { Dialog } from "~/ui/Dialog";
import { Kbd } from "~/ui/Kbd";

import { chosen, type Shortcut, shortcutStore } from "./shortcuts";

const GROUPS = ["Everywhere", "Go to", "Lists", "This page"] as const;
const PALETTE: Shortcut = { keys: "Ctrl K", label: "Find a task or a page", group: "Everywhere", run: () => undefined };

export default function ShortcutHelp({ onClose }: { onClose: () => void }) {
  const known = [PALETTE, ...useStore(shortcutStore)];
  const shortcuts = known.filter((one) => chosen(known, one.keys) === one);
  return (
    <Dialog open onClose={onClose} title="Keyboard shortcuts" wide>
      <div className="gap-x-10 sm:columns-2">
        {GROUPS.filter((group) => shortcuts.some((one) => one.group === group)).map((group) => (
          <section key={group} className="mb-6 break-inside-avoid">
            <h3 className="mb-2 font-medium text-ink-2">{group}</h3>
            <dl className="flex flex-col gap-1.5">
              {shortcuts
                .filter((one) => one.group === group)
                .map((one) => (
                  <div key={one.keys} className="flex items-center justify-between gap-4">
                    <dt>{one.label}</dt>
                    <dd className="flex gap-1">
                      {one.keys.split(" ").map((key) => (
                        <Kbd key={key}>{key}</Kbd>
                      ))}
                    </dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
