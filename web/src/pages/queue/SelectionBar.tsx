import { Ban, ChevronDown, RotateCcw, SkipForward, X } from "lucide-react";

import type { Level } from "~/api/client";
import { counted } from "~/lib/format";
import { useIsNarrow } from "~/lib/narrow";
import { type Action, BULK_MAX } from "~/lib/taskActions";
import { Button } from "~/ui/Button";
import { IconButton } from "~/ui/IconButton";
import { Menu, type MenuItem } from "~/ui/Menu";
import { CANCEL, LEVEL, LEVELS, RETRY, SKIP } from "~/words";

interface Props {
  size: number;
  hasMore: boolean;
  onClear: () => void;
  onDo: (action: Action, level?: Level) => void;
}

const ACTS = [
  { action: "retry", label: RETRY, icon: <RotateCcw /> },
  { action: "skip", label: SKIP, icon: <SkipForward /> },
  { action: "cancel", label: CANCEL, icon: <Ban /> },
] as const;

const MENU_LOOK = "h-8 shrink-0 border border-line-strong bg-surface px-3 font-medium text-ink";

/** Over the filters while something is selected, so that no row moves: what can be done with it. */
export function SelectionBar({ size, hasMore, onClear, onDo }: Props) {
  const isNarrow = useIsNarrow();
  const levels = LEVELS.map<MenuItem>((level) => ({
    label: isNarrow ? `Make them ${LEVEL[level].label.toLowerCase()}` : LEVEL[level].label,
    onSelect: () => {
      onDo("reprioritise", level);
    },
  }));
  const acts = ACTS.map<MenuItem>(({ action, label, icon }) => ({
    label,
    icon,
    tone: action === "cancel" ? "failed" : "plain",
    onSelect: () => {
      onDo(action);
    },
  }));
  return (
    <div
      role="toolbar"
      aria-label="Selected tasks"
      className="absolute inset-0 flex items-center gap-2 border-b border-line bg-accent-soft p-2 md:px-3"
    >
      <IconButton label="Select nothing" onClick={onClear}>
        <X />
      </IconButton>
      <p role="status" className="mr-2 font-medium whitespace-nowrap max-md:flex-1">
        {counted(size, "task")} selected
        {size >= BULK_MAX && hasMore && <span className="font-normal text-ink-2 max-md:hidden"> · as many as one step takes</span>}
      </p>
      {isNarrow ? (
        <Menu label="Act on what is selected" className={MENU_LOOK} items={[...acts, "line", ...levels]}>
          Actions
          <ChevronDown aria-hidden />
        </Menu>
      ) : (
        <>
          {acts.map(({ label, icon, tone, onSelect }) => (
            <Button key={label} icon={icon} look={tone === "failed" ? "danger" : "plain"} onClick={onSelect}>
              {label}
            </Button>
          ))}
          <Menu label="Change the priority" className={MENU_LOOK} items={levels}>
            Priority
            <ChevronDown aria-hidden />
          </Menu>
        </>
      )}
    </div>
  );
}
