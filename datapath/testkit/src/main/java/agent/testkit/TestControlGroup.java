package agent.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A control group (cgroup2) of one test. This process may be in it, so that the test's sockets are
 * those of the group; such tests run one after the other.
 */
public final class TestControlGroup implements AutoCloseable {
  /** Name of the lock of tests that move this process. */
  public static final String LOCK = "control group of the process";

  private static final AtomicInteger NEXT = new AtomicInteger();
  private static final String TYPE = " - cgroup2 ";
  private static final int MOUNT_POINT = 4;
  private static final String UNIFIED = "0::";

  private final Path mount;
  private final Path former;
  private final Path path;

  private TestControlGroup(Path mount, Path former, Path path) {
    this.mount = mount;
    this.former = former;
    this.path = path;
  }

  /** Creates a group below that of this process, and moves the process into it. */
  public static TestControlGroup enter() {
    final TestControlGroup group = create();
    try {
      move(group.path);
      return new TestControlGroup(group.mount, group.path.getParent(), group.path);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  /** Creates a group without processes below that of this process. */
  public static TestControlGroup create() {
    try {
      final Optional<Path> mounted = mounted();
      final Path mount =
          mounted.isPresent() ? mounted.get() : Files.createTempDirectory("agent-cgroup-");
      if (mounted.isEmpty()) {
        SystemCalls.mount("cgroup2", mount.toString());
      }
      final Path own = mount.resolve(ownGroup());
      final Path parent = Files.isDirectory(own) ? own : mount; // it may be outside the mount
      final Path path =
          parent.resolve("agent-" + ProcessHandle.current().pid() + "-" + NEXT.incrementAndGet());
      Files.createDirectory(path);
      return new TestControlGroup(mounted.isPresent() ? null : mount, null, path);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  private static Optional<Path> mounted() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/mountinfo")).stream()
        .filter(line -> line.contains(TYPE))
        .map(line -> Path.of(line.split(" ")[MOUNT_POINT]))
        .findFirst();
  }

  /** Returns the group of this process, relative to the root of the file system. */
  private static String ownGroup() throws IOException {
    final List<String> groups = Files.readAllLines(Path.of("/proc/self/cgroup"));
    return groups.stream()
        .filter(line -> line.startsWith(UNIFIED))
        .map(line -> line.substring(UNIFIED.length() + 1))
        .findFirst()
        .orElseThrow();
  }

  private static void move(Path group) throws IOException {
    Files.writeString(group.resolve("cgroup.procs"), Long.toString(ProcessHandle.current().pid()));
  }

  /** Returns what the work returns, which is done while this process is in the group. */
  public <T> T run(Callable<T> work) throws Exception {
    move(path);
    try {
      return work.call();
    } finally {
      move(path.getParent());
    }
  }

  /** A process whose parent was killed may take a moment to end. */
  private void awaitEmpty() throws IOException {
    final long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (Files.readString(path.resolve("cgroup.events")).contains("populated 1")
        && System.nanoTime() < deadlineNs) {
      Thread.onSpinWait();
    }
  }

  /** Returns the directory of the group. */
  public Path path() {
    return path;
  }

  /** Moves the process back where it is in the group, and removes the group. */
  @Override
  public void close() {
    try {
      if (former != null) {
        move(former);
      }
      awaitEmpty();
      Files.delete(path);
      if (mount != null) {
        SystemCalls.unmount(mount.toString());
        Files.delete(mount);
      }
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }
}
