/** What a plan, or a user's own settings, may limit. */
export const LIMITS = [
  { key: "max_concurrent_agents", label: "Tasks at a time", min: 0 },
  { key: "max_pending", label: "Tasks waiting", min: 0 },
  { key: "max_task_duration_minutes", label: "Minutes a task may take", min: 1 },
  { key: "monthly_agent_hours", label: "Agent hours a month", min: 0 },
] as const;
