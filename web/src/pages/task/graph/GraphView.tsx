import { Maximize, Minus, Plus } from "lucide-react";
import { type PointerEvent, type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";

import type { Task } from "~/api/client";
import { cx } from "~/lib/classes";
import { IconButton } from "~/ui/IconButton";
import { StatusBadge } from "~/ui/StatusBadge";
import { TaskLink } from "~/ui/TaskLink";
import { STATUS, titleOf } from "~/words";

import { type GraphData, NODE, place } from "./layout";

const ZOOM = { min: 0.3, max: 1.6, step: 0.2, wheel: 0.05 } as const;
const HEIGHT_PX_MAX = 520;

/**
 * Links where the layout puts them, over lines that tie them. It moves by the browser's own scrolling, so that the
 * keyboard, a finger and the focus move it as well as a drag does.
 */
export default function GraphView({ task, data }: { task: Task; data: GraphData }) {
  // Statuses change all the time; where things stand only when a task comes or goes.
  const shape = `${data.nodes.map((node) => node.id).join()}|${data.edges.map((edge) => `${edge.from}>${edge.to}`).join()}`;
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const placed = useMemo(() => place(data), [shape]);
  const area = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(1);
  const drag = useDrag(area);
  const zoomBy = useCallback((step: number) => {
    setZoom((before) => Math.max(ZOOM.min, Math.min(ZOOM.max, before + step)));
  }, []);
  useZoomWheel(area, zoomBy);

  function fit() {
    const room = area.current?.clientWidth ?? placed.width;
    setZoom(Math.max(ZOOM.min, Math.min(1, room / placed.width, HEIGHT_PX_MAX / placed.height)));
  }
  useEffect(() => {
    const own = placed.at.get(task.id);
    const shown = area.current;
    if (own === undefined || shown === null) return;
    shown.scrollTo({ left: own.x - shown.clientWidth / 2 + NODE.width / 2, top: own.y - shown.clientHeight / 2 + NODE.height / 2 });
  }, [placed, task.id]);

  return (
    <div className="relative">
      <ZoomButtons onStep={zoomBy} onFit={fit} />
      <div
        ref={area}
        role="group"
        aria-label="Dependency graph"
        {...drag}
        className="cursor-grab overflow-auto bg-page active:cursor-grabbing"
        style={{ height: Math.min(HEIGHT_PX_MAX, Math.max(160, placed.height * zoom + 16)) }}
      >
        <div className="flex min-h-full w-max min-w-full items-center justify-center">
          <div className="shrink-0" style={{ width: placed.width * zoom, height: placed.height * zoom }}>
            <div className="relative origin-top-left" style={{ width: placed.width, height: placed.height, transform: `scale(${String(zoom)})` }}>
              <Lines placed={placed} own={task.id} />
              <Nodes task={task} data={data} placed={placed} />
            </div>
          </div>
        </div>
      </div>
    </div>
  );
}

function ZoomButtons({ onStep, onFit }: { onStep: (step: number) => void; onFit: () => void }) {
  const by = (step: number) => () => {
    onStep(step);
  };
  return (
    <div className="absolute top-2 right-2 z-10 flex rounded-md border border-line bg-surface">
      <IconButton label="Zoom out" onClick={by(-ZOOM.step)}>
        <Minus />
      </IconButton>
      <IconButton label="Zoom in" onClick={by(ZOOM.step)}>
        <Plus />
      </IconButton>
      <IconButton label="Show all of it" onClick={onFit}>
        <Maximize />
      </IconButton>
    </div>
  );
}

function Lines({ placed, own }: { placed: ReturnType<typeof place>; own: string }) {
  return (
    <svg aria-hidden width={placed.width} height={placed.height} className="absolute inset-0 text-line-strong" fill="none">
      <defs>
        <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0,0 L8,4 L0,8 z" fill="context-stroke" />
        </marker>
      </defs>
      {placed.lines.map(({ id, from, to, kind, path }) => (
        <path
          key={id}
          d={path}
          stroke={from === own || to === own ? "var(--color-accent)" : "currentColor"}
          strokeWidth={1.5}
          strokeDasharray={kind === "subtask" ? "4 4" : undefined}
          markerEnd="url(#tip)"
        />
      ))}
    </svg>
  );
}

function Nodes({ task, data, placed }: { task: Task; data: GraphData; placed: ReturnType<typeof place> }) {
  return (
    <ul>
      {data.nodes.map((node) => {
        const at = placed.at.get(node.id) ?? { x: 0, y: 0 };
        const isOwn = node.id === task.id;
        return (
          <li key={node.id} className="absolute" style={{ left: at.x, top: at.y, width: NODE.width, height: NODE.height }}>
            <TaskLink
              task={{ ...node, user_id: task.user_id, input: "" }}
              className={cx(
                "flex h-full flex-col justify-center rounded-md border bg-surface px-3 hover:border-accent",
                isOwn ? "border-accent ring-1 ring-accent" : STATUS[node.status].tone === "failed" ? "border-failed/60" : "border-line-strong",
              )}
            >
              <span className="truncate font-medium">{titleOf({ ...node, input: "" })}</span>
              <span className="flex items-center justify-between gap-2 text-xs">
                <span className="text-ink-3">{node.ref}</span>
                <StatusBadge status={node.status} />
              </span>
            </TaskLink>
          </li>
        );
      })}
    </ul>
  );
}

/** The background taken by the pointer moves the drawing; a link that is pressed is still a link. */
function useDrag(area: RefObject<HTMLDivElement | null>) {
  const from = useRef<{ x: number; y: number; left: number; top: number } | null>(null);
  return {
    onPointerDown: (event: PointerEvent) => {
      const shown = area.current;
      if (shown === null || event.pointerType !== "mouse" || (event.target as Element).closest("a") !== null) return;
      from.current = { x: event.clientX, y: event.clientY, left: shown.scrollLeft, top: shown.scrollTop };
      shown.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      if (from.current === null) return;
      area.current?.scrollTo({
        left: from.current.left - (event.clientX - from.current.x),
        top: from.current.top - (event.clientY - from.current.y),
      });
    },
    onPointerUp: () => {
      from.current = null;
    },
  };
}

/** Two fingers apart, or the wheel with Ctrl, enlarge the drawing in place of the whole page. */
function useZoomWheel(area: RefObject<HTMLDivElement | null>, zoomBy: (step: number) => void): void {
  useEffect(() => {
    const shown = area.current;
    function onWheel(event: WheelEvent) {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoomBy(-Math.sign(event.deltaY) * ZOOM.wheel);
    }
    // React's own listeners are passive and could not keep the page from growing.
    shown?.addEventListener("wheel", onWheel, { passive: false });
    return () => shown?.removeEventListener("wheel", onWheel);
  }, [area, zoomBy]);
}
