package agent.launcher.state;

import agent.ipam.Lease;
import agent.ipam.LeaseStore;
import java.nio.file.Path;
import java.util.List;

/** Address leases in {@code ipam/leases.json}. */
public final class LeaseFile implements LeaseStore {
  private static final String NAME = "leases";

  private final StateFolder folder;

  private LeaseFile(StateFolder folder) {
    this.folder = folder;
  }

  /**
   * Opens the store.
   *
   * @param stateDirectory the agent's state directory
   * @return the store
   */
  public static LeaseFile open(Path stateDirectory) {
    return new LeaseFile(StateFolder.open(stateDirectory.resolve("ipam"), NAME));
  }

  @Override
  public List<Lease> load() {
    return folder.read(NAME, Document.class).map(Document::leases).orElse(List.of());
  }

  @Override
  public void save(List<Lease> leases) {
    folder.write(NAME, new Document(leases));
  }

  record Document(List<Lease> leases) {
    Document {
      leases = List.copyOf(leases);
    }
  }
}
