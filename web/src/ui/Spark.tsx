import { cx } from "~/lib/classes";

/** Null breaks the line: nobody knows. Undefined does not: there was nothing to tell of. */
export type Values = readonly (number | null | undefined)[];

interface Props {
  values: Values;
  /** What it shows, for a screen reader: "Waiting, last hour". */
  label: string;
  className?: string;
}

interface Point {
  index: number;
  value: number;
}

const WIDTH = 120;
const HEIGHT = 28;
const EDGE = 2;

/** A line without axes, as SVG: it takes the colour of the text around it, and a chart's code need not be there yet. */
export function Spark({ values, label, className = "text-accent" }: Props) {
  const found = pieces(values);
  const top = Math.max(1, ...found.flat().map((point) => point.value));
  const step = values.length > 1 ? (WIDTH - 2 * EDGE) / (values.length - 1) : 0;
  const at = ({ index, value }: Point) =>
    `${String(EDGE + index * step)},${String(HEIGHT - EDGE - (value / top) * (HEIGHT - 2 * EDGE))}`;
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${String(WIDTH)} ${String(HEIGHT)}`}
      preserveAspectRatio="none"
      className={cx("h-7 w-full overflow-visible", className)}
    >
      <line x1="0" x2={WIDTH} y1={HEIGHT - 1} y2={HEIGHT - 1} stroke="var(--color-line)" vectorEffect="non-scaling-stroke" />
      {found.map((piece) => (
        // A line of one point is a dot: its round ends.
        <polyline
          key={piece[0]?.index}
          points={(piece.length === 1 ? [...piece, ...piece] : piece).map(at).join(" ")}
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

function pieces(values: Values): Point[][] {
  const found: Point[][] = [[]];
  values.forEach((value, index) => {
    if (value === null) found.push([]);
    else if (value !== undefined) found.at(-1)?.push({ index, value });
  });
  return found.filter((piece) => piece.length > 0);
}
