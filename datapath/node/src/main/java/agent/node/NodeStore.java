package agent.node;

import java.util.Optional;

/** Keeps the node's record over restarts. A call returns when it is safe, and throws where not. */
public interface NodeStore {
  /** The record that was saved last. */
  Optional<NodeRecord> load();

  /** Replaces what is saved. */
  void save(NodeRecord node);

  /** A store that forgets. */
  static NodeStore inMemory() {
    return new NodeStore() {
      private NodeRecord saved;

      @Override
      public Optional<NodeRecord> load() {
        return Optional.ofNullable(saved);
      }

      @Override
      public void save(NodeRecord node) {
        saved = node;
      }
    };
  }
}
