package agent.launcher.state;

import agent.datapath.manager.PrefilterList;
import agent.datapath.manager.PrefilterStore;
import agent.terms.Prefix;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The deny list in {@code prefilter/list.json}. */
public final class PrefilterFile implements PrefilterStore {
  private static final String NAME = "list";

  private final StateFolder folder;

  private PrefilterFile(final StateFolder folder) {
    this.folder = folder;
  }

  /**
   * Opens the store.
   *
   * @param stateDirectory the agent's state directory
   * @return the store
   */
  public static PrefilterFile open(final Path stateDirectory) {
    return new PrefilterFile(StateFolder.open(stateDirectory.resolve("prefilter"), "prefilter"));
  }

  @Override
  public Optional<PrefilterList> load() {
    return folder.read(
        NAME,
        Document.class,
        document ->
            new PrefilterList(
                document.revision, document.deny.stream().map(Prefix::parse).toList()));
  }

  @Override
  public void store(final PrefilterList list) throws IOException {
    try {
      folder.write(
          NAME, new Document(list.revision(), list.deny().stream().map(Prefix::toString).toList()));
    } catch (final UncheckedIOException e) {
      throw e.getCause();
    }
  }

  record Document(long revision, List<String> deny) {}
}
