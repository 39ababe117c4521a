package agent.state;

import agent.datapath.manager.spec.PrefilterList;
import agent.datapath.manager.spec.PrefilterStore;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Optional;

/** Stores the deny list in {@code prefilter/list.json}. */
final class PrefilterFile implements PrefilterStore {
  private static final String NAME = "list";

  private final StateFolder<PrefilterList> folder;

  PrefilterFile(StateFolder<PrefilterList> folder) {
    this.folder = folder;
  }

  @Override
  public Optional<PrefilterList> load() {
    return folder.read(NAME);
  }

  @Override
  public void store(PrefilterList list) throws IOException {
    try {
      folder.write(NAME, list);
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }
}
