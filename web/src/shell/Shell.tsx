import { useQuery } from "@tanstack/react-query";
import { Outlet, useLocation, useNavigate, useRouter } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { lazy, Suspense, useEffect, useEffectEvent, useState } from "react";

import type { Me } from "~/api/client";
import { may, MeContext, meQuery, useMe } from "~/api/queries/session";
import { CommandPalette } from "~/keyboard/CommandPalette";
import { listenForShortcuts, useShortcut } from "~/keyboard/shortcuts";
import { LiveProvider } from "~/live/LiveProvider";
import { useMayAsk } from "~/live/useLive";
import { ErrorState } from "~/ui/ErrorState";
import { Kbd } from "~/ui/Kbd";
import { Skeleton } from "~/ui/Skeleton";
import { Toasts } from "~/ui/Toasts";

import { ConnectionState, LostBanner } from "./ConnectionState";
import { ForAdmins, ForPeople } from "./Faults";
import { BottomNavigation, SideNavigation } from "./Navigation";
import { PersonMenu } from "./PersonMenu";
import { PLACES, placesFor } from "./places";
import { SignIn } from "./SignIn";
import { ThemeToggle } from "./ThemeToggle";
import { useOtherTabs } from "./useOtherTabs";
import { WhoseSelect } from "./WhoseSelect";

const ShortcutHelp = lazy(() => import("~/keyboard/ShortcutHelp"));

/** Around every page; in place of it, the sign-in while nobody is signed in. */
export function Shell() {
  const me = useQuery(meQuery);
  useOtherTabs(me.data);
  if (me.data === null) return <SignIn />;
  if (me.data !== undefined) {
    return (
      <MeContext value={me.data}>
        <SignedIn key={me.data.id} me={me.data} />
      </MeContext>
    );
  }
  if (me.failureReason !== null) return <ErrorState error={me.failureReason} onRetry={() => void me.refetch()} />;
  return null;
}

function SignedIn({ me }: { me: Me }) {
  const isAdmin = may(me, "admin");
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  useEffect(listenForShortcuts, []);
  usePaletteKey(() => {
    setPalette(true);
  });
  useFocusOnArrival();
  useShortcut("/", "Search", () => {
    setPalette(true);
  }, "Everywhere");
  useShortcut("?", "Show the shortcuts", () => {
    setHelp(true);
  }, "Everywhere");

  return (
    <LiveProvider isAdmin={isAdmin}>
      <a
        href="#content"
        className="sr-only z-50 rounded-md bg-accent px-3 py-2 text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to the page
      </a>
      <div className="flex min-h-dvh">
        <SideNavigation isAdmin={isAdmin} />
        <div className="flex min-w-0 flex-1 flex-col pb-14 md:pb-0">
          <header className="sticky top-0 z-20 flex h-12 items-center gap-2 border-b border-line bg-page px-4">
            <button
              type="button"
              onClick={() => {
                setPalette(true);
              }}
              className="flex h-8 min-w-0 flex-1 items-center gap-2 rounded-md border border-line bg-surface px-2.5 text-ink-3 hover:border-line-strong md:max-w-80"
            >
              <Search aria-hidden className="size-4 shrink-0" />
              <span className="truncate">Find a task or a page</span>
              <span className="ml-auto flex gap-1 max-md:hidden">
                <Kbd>Ctrl</Kbd>
                <Kbd>K</Kbd>
              </span>
            </button>
            <div className="ml-auto flex items-center gap-2">
              <ConnectionState />
              {isAdmin && (
                <div className="max-md:hidden">
                  <WhoseSelect hideLabel />
                </div>
              )}
              <ThemeToggle />
              <PersonMenu
                onHelp={() => {
                  setHelp(true);
                }}
              />
            </div>
          </header>
          <LostBanner />
          <main id="content" tabIndex={-1} className="mx-auto flex w-full max-w-7xl min-w-0 flex-1 flex-col p-4 outline-none md:p-6">
            <Suspense fallback={<Coming />}>
              <Page isAdmin={isAdmin} />
            </Suspense>
          </main>
        </div>
        <BottomNavigation isAdmin={isAdmin} />
      </div>
      <GoShortcuts isAdmin={isAdmin} />
      <CommandPalette
        open={palette}
        onClose={() => {
          setPalette(false);
        }}
        onHelp={() => {
          setHelp(true);
        }}
      />
      {help && (
        <Suspense>
          <ShortcutHelp
            onClose={() => {
              setHelp(false);
            }}
          />
        </Suspense>
      )}
      <Toasts />
    </LiveProvider>
  );
}

/** Asked for by its address, a page that is not theirs says so; it would only ask the hub for what it refuses. */
function Page({ isAdmin }: { isAdmin: boolean }) {
  const { pathname } = useLocation();
  const isForPeople = may(useMe(), "tasks") || isAdmin;
  const place = PLACES.find((one) => one.to === pathname);
  const mayAsk = useMayAsk();
  if (!isForPeople) return <ForPeople />;
  if (!mayAsk) return <Coming />;
  return place?.group === "Admin" && !isAdmin ? <ForAdmins title={place.label} /> : <Outlet />;
}

function Coming() {
  return <Skeleton className="h-6 w-40" />;
}

function GoShortcuts({ isAdmin }: { isAdmin: boolean }) {
  return placesFor(isAdmin).map((place) => <Go key={place.to} to={place.to} keys={`g ${place.key}`} label={place.label} />);
}

function Go({ to, keys, label }: { to: string; keys: string; label: string }) {
  const navigate = useNavigate();
  useShortcut(keys, label, () => void navigate({ to }), "Go to");
  return null;
}

/** A new page takes the focus, so that the keyboard and a screen reader go on there and not at what was left. */
function useFocusOnArrival(): void {
  const router = useRouter();
  useEffect(
    () =>
      router.subscribe("onResolved", ({ pathChanged, fromLocation }) => {
        if (pathChanged && fromLocation !== undefined) document.getElementById("content")?.focus({ preventScroll: true });
      }),
    [router],
  );
}

/** Everywhere, also while somebody types: it is how one gets out of there. */
function usePaletteKey(open: () => void): void {
  const latest = useEffectEvent(open);
  useEffect(() => {
    function onKey(event: KeyboardEvent) {
      if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey) || event.altKey) return;
      event.preventDefault();
      if (document.querySelector("dialog[open]") === null) latest();
    }
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("keydown", onKey);
    };
  }, []);
}
