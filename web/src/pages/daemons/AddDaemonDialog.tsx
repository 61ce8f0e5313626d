import { CopyId } from "~/ui/CopyId";
import { Dialog } from "~/ui/Dialog";

const WAYS = [
  { name: "Claude Code, Codex, Gemini CLI, aider or Ollama", options: "--agent claude" },
  { name: "Any program or script", options: "--run ./agent.sh" },
  { name: "A model behind an OpenAI-compatible address", options: "--openai http://127.0.0.1:11434/v1" },
];

/** How to bring one here: the commands, with this hub's address in them. */
export function AddDaemonDialog({ onClose }: { onClose: () => void }) {
  const hub = window.location.origin;
  return (
    <Dialog open onClose={onClose} title="Add a daemon" wide>
      <div className="flex flex-col gap-4">
        <p>
          On the machine where the work should be done, with Taskyard installed and a key of the scope{" "}
          <code className="font-mono text-xs">daemon</code> (Admin, Keys) in the variable{" "}
          <code className="font-mono text-xs">TASKYARD_KEY</code>:
        </p>
        <ul className="flex flex-col gap-3">
          {WAYS.map(({ name, options }) => (
            <li key={name} className="flex min-w-0 flex-col gap-1">
              <span className="text-ink-2">{name}</span>
              <div className="overflow-x-auto rounded-md bg-sunken px-2 py-1.5">
                <CopyId value={`taskyard daemon ${options} --hub ${hub}`} label="the command" />
              </div>
            </li>
          ))}
        </ul>
        <p className="text-ink-2">
          It appears here as soon as it is connected. To have the machine keep it running, write{" "}
          <code className="font-mono text-xs">daemon install</code> instead of <code className="font-mono text-xs">daemon</code>.
        </p>
      </div>
    </Dialog>
  );
}
