package agent.state;

import agent.ipam.Lease;
import agent.ipam.LeaseStore;
import java.util.List;

/** Stores the address leases in {@code ipam/leases.json}. */
final class LeaseFile implements LeaseStore {
  private static final String NAME = "leases";

  private final StateFolder<List<Lease>> folder;

  LeaseFile(StateFolder<List<Lease>> folder) {
    this.folder = folder;
  }

  @Override
  public List<Lease> load() {
    return folder.read(NAME).orElse(List.of());
  }

  @Override
  public void save(List<Lease> leases) {
    folder.write(NAME, leases);
  }
}
