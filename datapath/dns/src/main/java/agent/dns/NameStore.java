package agent.dns;

import agent.types.UnreadableStateException;
import java.util.List;

/** Keeps the addresses of names over restarts. */
public interface NameStore {
  /**
   * Returns what was saved last; empty where there is nothing.
   *
   * @throws UnreadableStateException where there is something that cannot be read
   */
  List<NameLookup> load();

  /** Replaces what is saved; returns when it is on the disk, and throws where that failed. */
  void save(List<NameLookup> lookups);

  /** Returns a store in memory, for tests: it keeps its content until the process ends. */
  static NameStore inMemory() {
    return new NameStore() {
      private List<NameLookup> saved = List.of();

      @Override
      public synchronized List<NameLookup> load() {
        return saved;
      }

      @Override
      public synchronized void save(List<NameLookup> lookups) {
        saved = List.copyOf(lookups);
      }
    };
  }
}
