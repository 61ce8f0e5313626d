export function Brand({ nameLook }: { nameLook?: string }) {
  return (
    <span className="inline-flex items-center gap-2 text-base font-semibold tracking-tight">
      <svg aria-hidden viewBox="0 0 32 32" className="size-6 shrink-0">
        <rect width="32" height="32" rx="8" fill="#0f6e68" />
        <path d="M8 10h16M8 16h11M8 22h6" stroke="#fff" strokeWidth="3" strokeLinecap="round" />
        <circle cx="23" cy="22" r="3" fill="#f3b34c" />
      </svg>
      <span className={nameLook}>Taskyard</span>
    </span>
  );
}
