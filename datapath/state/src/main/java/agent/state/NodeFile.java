package agent.state;

import agent.node.NodeStore;
import agent.types.UnreadableStateException;
import java.util.Optional;

/** Stores the address ranges of the node in {@code node/node.json}. */
final class NodeFile implements NodeStore {
  private static final String NAME = "node";

  private final StateFolder<NodeRecord> folder;

  NodeFile(StateFolder<NodeRecord> folder) {
    this.folder = folder;
  }

  @Override
  public Optional<NodeRecord> load() {
    try {
      return folder.read(NAME);
    } catch (DamagedStateException e) {
      throw new UnreadableStateException(
          ("node: the address ranges in %s cannot be read (%s). Other ranges would take the"
                  + " workloads' addresses and gateways away. Restore the file, or %s and"
                  + " name the ranges with --ipv4-range and --ipv6-range")
              .formatted(folder.path(NAME), e.getMessage(), folder.moveAway(NAME)));
    }
  }

  @Override
  public void save(NodeRecord node) {
    folder.write(NAME, node);
  }
}
