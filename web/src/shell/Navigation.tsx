import { Link } from "@tanstack/react-router";
import { Ellipsis } from "lucide-react";
import { useState } from "react";

import { cx } from "~/lib/classes";
import { Dialog } from "~/ui/Dialog";

import { Brand } from "./Brand";
import { type Place, placesFor } from "./places";
import { WhoseSelect } from "./WhoseSelect";

/** Beside a tablet's page there are only the signs: their names are for whoever points at one, or cannot see it. */
const NAMED = "md:max-lg:sr-only";
const GROUPS = ["Work", "Yard", "Admin"] as const;

function PlaceLink({ place, onGo }: { place: Place; onGo?: () => void }) {
  const Icon = place.icon;
  return (
    <Link
      to={place.to}
      {...(onGo === undefined ? {} : { onClick: onGo })}
      activeOptions={{ exact: place.to === "/", includeSearch: false }}
      title={place.label}
      className="flex h-8 items-center gap-2.5 rounded-md px-2 text-ink-2 hover:bg-sunken hover:text-ink aria-[current=page]:bg-sunken aria-[current=page]:font-medium aria-[current=page]:text-ink"
    >
      <Icon aria-hidden className="size-4 shrink-0" />
      <span className={NAMED}>{place.label}</span>
    </Link>
  );
}

function Places({ isAdmin, onGo }: { isAdmin: boolean; onGo?: () => void }) {
  const places = placesFor(isAdmin);
  return GROUPS.filter((group) => places.some((place) => place.group === group)).map((group) => (
    <div key={group} className="flex flex-col gap-0.5">
      <p className={cx("px-2 py-1 text-xs font-medium text-ink-3", NAMED)}>{group}</p>
      {places
        .filter((place) => place.group === group)
        .map((place) => (
          <PlaceLink key={place.to} place={place} {...(onGo === undefined ? {} : { onGo })} />
        ))}
    </div>
  ));
}

export function SideNavigation({ isAdmin }: { isAdmin: boolean }) {
  return (
    <nav
      aria-label="Pages"
      className="sticky top-0 hidden h-dvh w-14 shrink-0 flex-col gap-4 overflow-y-auto border-r border-line bg-page px-3 py-4 md:flex lg:w-52"
    >
      <Link to="/" className="mb-1 px-1 lg:px-2">
        <Brand nameLook={NAMED} />
      </Link>
      <Places isAdmin={isAdmin} />
    </nav>
  );
}

const TAB = "flex flex-1 flex-col items-center justify-center gap-0.5 text-xs text-ink-2 aria-[current=page]:text-accent";

/** The same at phone width: what is used most at the bottom, where the thumb is. */
export function BottomNavigation({ isAdmin }: { isAdmin: boolean }) {
  const [more, setMore] = useState(false);
  const close = () => {
    setMore(false);
  };
  return (
    <nav
      aria-label="Pages"
      className="fixed inset-x-0 bottom-0 z-20 flex h-14 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {placesFor(isAdmin)
        .filter((place) => place.isMain)
        .map((place) => (
          <Link key={place.to} to={place.to} activeOptions={{ exact: place.to === "/", includeSearch: false }} className={TAB}>
            <place.icon aria-hidden className="size-5" />
            {place.label}
          </Link>
        ))}
      <button
        type="button"
        className={TAB}
        onClick={() => {
          setMore(true);
        }}
      >
        <Ellipsis aria-hidden className="size-5" />
        More
      </button>
      <Dialog open={more} onClose={close} title="Pages">
        <div className="flex flex-col gap-3">
          {isAdmin && <WhoseSelect />}
          <Places isAdmin={isAdmin} onGo={close} />
        </div>
      </Dialog>
    </nav>
  );
}
