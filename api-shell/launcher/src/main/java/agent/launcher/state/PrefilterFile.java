package agent.launcher.state;

import agent.datapath.manager.spec.PrefilterList;
import agent.datapath.manager.spec.PrefilterStore;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Optional;

/** The deny list in {@code prefilter/list.json}. */
public final class PrefilterFile implements PrefilterStore {
  private static final String NAME = "list";

  private final StateFolder folder;

  private PrefilterFile(StateFolder folder) {
    this.folder = folder;
  }

  /**
   * Opens the store.
   *
   * @param stateDirectory the agent's state directory
   * @return the store
   */
  public static PrefilterFile open(Path stateDirectory) {
    return new PrefilterFile(StateFolder.open(stateDirectory.resolve("prefilter"), "prefilter"));
  }

  @Override
  public Optional<PrefilterList> load() {
    return folder.read(NAME, PrefilterList.class);
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
