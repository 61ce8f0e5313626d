import { cx } from "~/lib/classes";

interface Props {
  values: readonly (number | null)[];
  /** What it shows, for a screen reader: "Waiting, last hour, now 12". */
  label: string;
  className?: string;
}

const WIDTH = 120;
const HEIGHT = 28;
const EDGE = 2;

/** A line without axes, as SVG: it takes the colour of the text around it, and a chart's code need not be there yet. */
export function Spark({ values, label, className = "text-accent" }: Props) {
  const known = values.filter((value) => value !== null);
  const top = Math.max(1, ...known);
  const step = values.length > 1 ? (WIDTH - 2 * EDGE) / (values.length - 1) : 0;
  const y = (value: number) => HEIGHT - EDGE - (value / top) * (HEIGHT - 2 * EDGE);
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${String(WIDTH)} ${String(HEIGHT)}`}
      preserveAspectRatio="none"
      className={cx("h-7 w-full overflow-visible", className)}
    >
      <line x1="0" x2={WIDTH} y1={HEIGHT - 1} y2={HEIGHT - 1} stroke="var(--color-line)" vectorEffect="non-scaling-stroke" />
      {pieces(values).map((piece) => (
        // A line of one point is a dot: its round ends.
        <polyline
          key={piece.from}
          points={pointsOf(piece, step, y)}
          fill="none"
          stroke="currentColor"
          strokeWidth="1.5"
          strokeLinejoin="round"
          strokeLinecap="round"
          vectorEffect="non-scaling-stroke"
        />
      ))}
    </svg>
  );
}

function pointsOf(piece: { from: number; values: number[] }, step: number, y: (value: number) => number): string {
  const points = piece.values.map((value, index) => `${String(EDGE + (piece.from + index) * step)},${String(y(value))}`);
  return (points.length === 1 ? [...points, ...points] : points).join(" ");
}

/** Where the hub was away there is no line. */
function pieces(values: readonly (number | null)[]): { from: number; values: number[] }[] {
  const found: { from: number; values: number[] }[] = [];
  values.forEach((value, index) => {
    if (value === null) return;
    const last = found.at(-1);
    if (last !== undefined && last.from + last.values.length === index) last.values.push(value);
    else found.push({ from: index, values: [value] });
  });
  return found;
}
