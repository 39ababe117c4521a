package agent.state;

import agent.node.NodeStore;
import agent.node.NodeStore.NodeRecord;
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
    return folder.read(NAME);
  }

  @Override
  public void save(NodeRecord node) {
    folder.write(NAME, node);
  }
}
