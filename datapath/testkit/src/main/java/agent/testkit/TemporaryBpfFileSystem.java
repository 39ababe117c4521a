package agent.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A BPF file system of one test in a temporary directory; closing it removes its pins. */
public final class TemporaryBpfFileSystem implements AutoCloseable {
  private final Path path;

  private TemporaryBpfFileSystem(Path path) {
    this.path = path;
  }

  /** Mounts a BPF file system in a temporary directory. */
  public static TemporaryBpfFileSystem mount() {
    try {
      final Path path = Files.createTempDirectory("agent-bpffs-");
      SystemCalls.mount("bpf", path.toString());
      return new TemporaryBpfFileSystem(path);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  /** Returns the mount point. */
  public Path path() {
    return path;
  }

  @Override
  public void close() {
    SystemCalls.unmount(path.toString());
    try {
      Files.delete(path);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }
}
