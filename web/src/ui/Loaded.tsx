import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { ErrorState } from "./ErrorState";
import { SkeletonRows } from "./Skeleton";

interface Props<T> {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
  loading?: ReactNode;
}

/** A query's three faces: not there yet, refused, there. What was there once stays while it is fetched anew. */
export function Loaded<T>({ query, children, loading = <SkeletonRows /> }: Props<T>) {
  if (query.data !== undefined) return children(query.data);
  if (query.error !== null) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  return loading;
}
