package agent.state;

import agent.datapath.manager.guard.Faults;
import agent.dns.NameLookup;
import agent.dns.NameStore;
import agent.types.UnreadableStateException;
import java.util.List;

/** Stores the addresses of names in {@code names/cache.json}. */
final class NameFile implements NameStore {
  private static final String NAME = "cache";

  private final StateFolder<List<NameLookup>> folder;
  private final Faults faults;

  NameFile(StateFolder<List<NameLookup>> folder, Faults faults) {
    this.folder = folder;
    this.faults = faults;
  }

  private String path() {
    return folder.path(NAME).toString();
  }

  @Override
  public List<NameLookup> load() {
    try {
      return folder.read(NAME).orElse(List.of());
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
    folder.write(NAME, lookups);
    faults.clear(path());
  }
}
