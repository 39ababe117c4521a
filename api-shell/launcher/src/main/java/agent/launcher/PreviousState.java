package agent.launcher;

import agent.launcher.state.StateFolder;
import java.nio.file.Path;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** What an earlier agent left, where it is not wanted ({@code --restore=false}). */
final class PreviousState {
  private static final Logger LOGGER = LogManager.getLogger(PreviousState.class);
  private static final List<String> FOLDERS = List.of("endpoints", "policy", "ipam", "prefilter");

  private PreviousState() {}

  /** Removes it; the ranges of the node stay, because other nodes know them. */
  static void discard(Path stateDirectory) {
    for (final String name : FOLDERS) {
      final StateFolder folder = StateFolder.open(stateDirectory.resolve(name), name);
      final List<String> documents = folder.names();
      documents.forEach(folder::remove);
      if (!documents.isEmpty()) {
        LOGGER.info("--restore=false: discarded {} of {}", documents, name);
      }
    }
  }
}
