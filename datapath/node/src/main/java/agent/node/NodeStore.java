package agent.node;

import agent.types.Prefix;
import java.util.Optional;

/**
 * Keeps the record of the node across restarts. A change is durable when its call returns; the call
 * throws where it cannot be stored.
 */
public interface NodeStore {
  /** Returns the record that was saved last, or empty. */
  Optional<NodeRecord> load();

  /** Replaces the saved record. */
  void save(NodeRecord node);

  /** Returns a store that keeps its content in memory. */
  static NodeStore inMemory() {
    return new NodeStore() {
      private NodeRecord saved;

      @Override
      public synchronized Optional<NodeRecord> load() {
        return Optional.ofNullable(saved);
      }

      @Override
      public synchronized void save(NodeRecord node) {
        saved = node;
      }
    };
  }

  /**
   * The stored choice of the node's address ranges, which must not change across restarts because
   * endpoints have addresses in them.
   *
   * @param ipv4Range the range in use, or null
   * @param ipv6Range the range in use, or null
   */
  record NodeRecord(Prefix ipv4Range, Prefix ipv6Range) {}
}
