package agent.state;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.List;

/** A folder that records what is synced, and fails where a test asks for it. */
final class RecordedFiles extends FolderFiles {
  private final Path folder;
  private final List<String> syncs;
  private String failing = "";
  private Runnable onSync = () -> {};

  RecordedFiles(Path folder, List<String> syncs) {
    super(folder);
    this.folder = folder;
    this.syncs = syncs;
  }

  /** Makes the sync of a file, or of the folder by its name, fail; none for an empty text. */
  void fail(String name) {
    failing = name;
  }

  /** Sets what runs within the next sync, as while the disk is at work. */
  void duringNextSync(Runnable work) {
    onSync = work;
  }

  @Override
  void sync(Path synced, FileChannel channel) throws IOException {
    final Runnable during = onSync;
    onSync = () -> {};
    during.run();
    final String name = synced.getFileName().toString();
    syncs.add(synced.equals(folder) ? name : folder.getFileName() + "/" + name);
    if (name.equals(failing)) {
      throw new IOException("Input/output error");
    }
    super.sync(synced, channel);
  }
}
