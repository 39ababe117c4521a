package agent.launcher.state;

import agent.node.NodeRecord;
import agent.node.NodeStore;
import java.nio.file.Path;
import java.util.Optional;

/** The ranges that the node has chosen, in {@code node/node.json}. */
public final class NodeFile implements NodeStore {
  private static final String NAME = "node";

  private final StateFolder folder;

  private NodeFile(StateFolder folder) {
    this.folder = folder;
  }

  /**
   * Opens the store.
   *
   * @param stateDirectory the agent's state directory
   * @return the store
   */
  public static NodeFile open(Path stateDirectory) {
    return new NodeFile(StateFolder.open(stateDirectory.resolve(NAME), NAME));
  }

  @Override
  public Optional<NodeRecord> load() {
    return folder.read(NAME, NodeRecord.class);
  }

  @Override
  public void save(NodeRecord node) {
    folder.write(NAME, node);
  }
}
