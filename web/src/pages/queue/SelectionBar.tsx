import { Ban, ChevronDown, RotateCcw, SkipForward, X } from "lucide-react";

import type { Level } from "~/api/client";
import { counted } from "~/lib/format";
import { type Action, BULK_MAX } from "~/lib/taskActions";
import { Button } from "~/ui/Button";
import { IconButton } from "~/ui/IconButton";
import { Menu } from "~/ui/Menu";
import { CANCEL, LEVEL, LEVELS, RETRY, SKIP } from "~/words";

interface Props {
  size: number;
  hasMore: boolean;
  onClear: () => void;
  onDo: (action: Action, level?: Level) => void;
}

/** Over the filters while something is selected, so that no row moves: what can be done with it. */
export function SelectionBar({ size, hasMore, onClear, onDo }: Props) {
  return (
    <div role="toolbar" aria-label="Selected tasks" className="absolute inset-0 flex items-center gap-2 overflow-x-auto border-b border-line bg-accent-soft p-2 md:px-3">
      <IconButton label="Select nothing" onClick={onClear}>
        <X />
      </IconButton>
      <p role="status" className="mr-2 font-medium whitespace-nowrap">
        {counted(size, "task")} selected
        {size >= BULK_MAX && hasMore && <span className="font-normal text-ink-2"> · as many as one step takes</span>}
      </p>
      <Button icon={<RotateCcw />} onClick={() => { onDo("retry"); }}>
        {RETRY}
      </Button>
      <Menu
        label="Change the priority"
        className="h-8 shrink-0 border border-line-strong bg-surface px-3 font-medium text-ink"
        items={LEVELS.map((level) => ({ label: LEVEL[level].label, onSelect: () => { onDo("reprioritise", level); } }))}
      >
        Priority
        <ChevronDown aria-hidden />
      </Menu>
      <Button icon={<SkipForward />} onClick={() => { onDo("skip"); }}>
        {SKIP}
      </Button>
      <Button look="danger" icon={<Ban />} onClick={() => { onDo("cancel"); }}>
        {CANCEL}
      </Button>
    </div>
  );
}
