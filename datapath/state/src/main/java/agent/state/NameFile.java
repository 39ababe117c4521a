package agent.state;

import agent.conductor.Faults;
import agent.dns.NameLookup;
import agent.dns.NameStore;
import agent.types.UnreadableStateException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * Stores the addresses of names in {@code names/cache.json}, and in a {@link NameJournal} what
 * comes between two writes of that file. The journal is ended before the lookups for the file are
 * taken, and removed after the file is written, so that a crash at any time leaves each lookup in
 * one of them.
 */
final class NameFile implements NameStore, AutoCloseable {
  private static final String NAME = "cache";

  private final StateFolder<List<NameLookup>> folder;
  private final Faults faults;
  private final NameJournal journal;

  NameFile(StateFolder<List<NameLookup>> folder, Faults faults) {
    this.folder = folder;
    this.faults = faults;
    journal = new NameJournal(folder);
  }

  private String path() {
    return folder.path(NAME).toString();
  }

  @Override
  public synchronized List<NameLookup> load() {
    try {
      final List<NameLookup> all = new ArrayList<>(folder.read(NAME).orElse(List.of()));
      all.addAll(journal.read());
      return all;
    } catch (DamagedStateException e) {
      final String message =
          ("names: the addresses in %s cannot be read (%s). No name has an address, so that rules"
                  + " with names allow nothing. Restore the file and start the agent again, or"
                  + " remove all names (agentctl fqdn cache clean), which are looked up again")
              .formatted(path(), e.getMessage());
      faults.failed(path(), message);
      throw new UnreadableStateException(message);
    }
  }

  @Override
  public void save(List<NameLookup> lookups) {
    compact(() -> lookups);
  }

  @Override
  public void append(List<NameLookup> lookups) {
    journal.append(lookups);
  }

  @Override
  public void sync() {
    journal.sync();
  }

  @Override
  public synchronized void compact(Supplier<List<NameLookup>> all) {
    final List<Long> ended = journal.rotate();
    folder.write(NAME, all.get());
    journal.remove(ended);
    faults.clear(path());
  }

  @Override
  public void close() {
    journal.close();
  }
}
