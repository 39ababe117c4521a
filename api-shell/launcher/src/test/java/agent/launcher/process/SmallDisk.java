package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A small file system at a state directory, which can be full or read-only. */
final class SmallDisk implements AutoCloseable {
  static final String FILLER = "filler";

  private final Path directory;
  private boolean isReadOnly;

  private SmallDisk(Path directory) {
    this.directory = directory;
  }

  /** Mounts it over a directory, in which there is nothing yet. */
  static SmallDisk mount(Path directory, int kilobytes) {
    Commands.run(
        "mount",
        "-t",
        "tmpfs",
        "-o",
        "size=" + kilobytes + "k,mode=0700",
        "tmpfs",
        directory.toString());
    return new SmallDisk(directory);
  }

  /** Leaves no page free. */
  void fill() throws IOException {
    final Path filler = directory.resolve(FILLER);
    try (var out = Files.newOutputStream(filler)) {
      while (true) {
        out.write(new byte[4096]);
      }
    } catch (IOException full) {
      assertTrue(Files.size(filler) > 0, full.toString());
    }
  }

  /** Frees what {@link #fill} took. */
  void free() throws IOException {
    Files.delete(directory.resolve(FILLER));
  }

  /** Mounts it read-only beside the writable mount: processes that have files open go on. */
  void readOnly() {
    Commands.run("mount", "--bind", directory.toString(), directory.toString());
    Commands.run("mount", "-o", "remount,bind,ro", directory.toString());
    isReadOnly = true;
  }

  /** Ends the read-only mount. */
  void writable() {
    if (isReadOnly) {
      isReadOnly = false;
      Commands.run("umount", "--lazy", directory.toString());
    }
  }

  @Override
  public void close() {
    writable();
    Commands.run("umount", "--lazy", directory.toString());
  }
}
