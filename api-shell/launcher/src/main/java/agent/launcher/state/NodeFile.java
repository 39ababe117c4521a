package agent.launcher.state;

import agent.node.NodeRecord;
import agent.node.NodeStore;
import agent.terms.Prefix;
import java.nio.file.Path;
import java.util.Optional;

/** The ranges that the node has chosen, in {@code node/node.json}. */
public final class NodeFile implements NodeStore {
  private static final String NAME = "node";

  private final StateFolder folder;

  private NodeFile(final StateFolder folder) {
    this.folder = folder;
  }

  /**
   * Opens the store.
   *
   * @param stateDirectory the agent's state directory
   * @return the store
   */
  public static NodeFile open(final Path stateDirectory) {
    return new NodeFile(StateFolder.open(stateDirectory.resolve(NAME), NAME));
  }

  @Override
  public Optional<NodeRecord> load() {
    return folder.read(
        NAME,
        Document.class,
        document -> new NodeRecord(prefix(document.ipv4Range), prefix(document.ipv6Range)));
  }

  @Override
  public void save(final NodeRecord node) {
    folder.write(NAME, new Document(text(node.ipv4Range()), text(node.ipv6Range())));
  }

  private static Prefix prefix(final String text) {
    return text == null ? null : Prefix.parse(text);
  }

  private static String text(final Prefix prefix) {
    return prefix == null ? null : prefix.toString();
  }

  record Document(String ipv4Range, String ipv6Range) {}
}
