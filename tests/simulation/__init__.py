"""Many lives from one seed: the real core, committer and daemon protocol in a world of fake clocks, disks and wires."""
