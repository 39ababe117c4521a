package agent.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A BPF file system of one test, in a directory of its own; closing it unpins all that is in it.
 */
public final class TemporaryBpfFileSystem implements AutoCloseable {
  private final Path path;

  private TemporaryBpfFileSystem(Path path) {
    this.path = path;
  }

  /** Mounts a new one in a temporary directory. */
  public static TemporaryBpfFileSystem mount() {
    try {
      final Path path = Files.createTempDirectory("agent-bpffs-");
      Commands.run("mount", "-t", "bpf", "bpf", path.toString());
      return new TemporaryBpfFileSystem(path);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  /** Where it is mounted. */
  public Path path() {
    return path;
  }

  @Override
  public void close() {
    if (Commands.attempt("umount", path.toString()).status() != 0) {
      Commands.run("umount", "--lazy", path.toString());
    }
    try {
      Files.delete(path);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }
}
