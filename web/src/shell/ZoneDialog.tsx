import { exact } from "~/lib/format";
import { useNow } from "~/lib/now";
import { zoneOf, zoneStore } from "~/lib/preferences";
import { useStore } from "~/lib/store";
import { Button } from "~/ui/Button";
import { Dialog } from "~/ui/Dialog";
import { Select } from "~/ui/Select";
import { CLOSE } from "~/words";

export function ZoneDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const chosen = useStore(zoneStore);
  const now = useNow();
  const zones = Intl.supportedValuesOf("timeZone");
  const options = [
    { value: "", label: `As this browser (${zoneOf("")})` },
    ...["UTC", ...zones.filter((zone) => zone !== "UTC")].map((zone) => ({ value: zone, label: zone.replaceAll("_", " ") })),
  ];
  return (
    <Dialog open={open} onClose={onClose} title="Time zone" footer={<Button onClick={onClose}>{CLOSE}</Button>}>
      <Select
        label="Times are shown in"
        options={options}
        value={chosen}
        onChange={(zone) => {
          zoneStore.set(zone);
        }}
        hint={`Now: ${exact(now, zoneOf(chosen))}`}
      />
    </Dialog>
  );
}
