package agent.dns;

import agent.types.UnreadableStateException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

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

  /**
   * Adds to what is saved, so that the next run of the agent knows it, and throws where that
   * failed. It takes as long as these lookups need, however many are saved.
   */
  void append(List<NameLookup> lookups);

  /**
   * Returns when everything that was appended is on the disk, and throws where that failed. Any
   * thread may call; {@link #append} goes on meanwhile.
   */
  void sync();

  /**
   * Replaces what is saved, as {@link #save} does, on another thread than that of {@link #append},
   * which goes on meanwhile.
   *
   * @param all returns all lookups; those that are appended later stay, whether it has them or not
   */
  void compact(Supplier<List<NameLookup>> all);

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

      @Override
      public synchronized void append(List<NameLookup> lookups) {
        final List<NameLookup> all = new ArrayList<>(saved);
        all.addAll(lookups);
        saved = List.copyOf(all);
      }

      @Override
      public void sync() {}

      @Override
      public synchronized void compact(Supplier<List<NameLookup>> all) {
        save(all.get());
      }
    };
  }
}
