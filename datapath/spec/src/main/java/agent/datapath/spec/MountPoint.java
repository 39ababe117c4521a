package agent.datapath.spec;

import agent.bindings.BindingsException;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.CgroupFileSystem;
import agent.types.IoFailure;
import agent.types.OwnedPath;
import agent.types.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Where the agent mounts a file system of the kernel. It hides nothing: the folder is empty or not
 * there yet, and neither it nor what leads to it belongs to another user.
 */
public enum MountPoint {
  /** The file system of pins. */
  BPF("BPF", BpfFileSystem::isMounted, BpfFileSystem::mount),

  /** The file system of control groups. */
  CGROUP("cgroup2", CgroupFileSystem::isMounted, CgroupFileSystem::mount);

  private static final String OWNER_ONLY = "rwx------";

  private final String type;
  private final Predicate<Path> isMounted;
  private final Consumer<Path> mounting;

  MountPoint(String type, Predicate<Path> isMounted, Consumer<Path> mounting) {
    this.type = type;
    this.isMounted = isMounted;
    this.mounting = mounting;
  }

  /**
   * Checks a path without changing anything.
   *
   * @param option the option that names it
   * @throws Refusal INVALID with the option, where nothing of this type is mounted at the path and
   *     nothing may be
   */
  public void check(String option, Path path) {
    if (!path.isAbsolute()) {
      throw Refusal.invalid(option, "'" + path + "' is not an absolute path");
    }
    if (isMounted.test(path)) {
      return;
    }
    try {
      if (Files.exists(path)) {
        checkEmpty(option, path);
      }
      final Path owned = existing(path);
      if (!Files.isDirectory(owned)) {
        throw Refusal.invalid(option, "'" + owned + "' is not a directory");
      }
      OwnedPath.check(option, path);
    } catch (IOException failure) {
      throw Refusal.invalid(option, "'" + path + "': " + IoFailure.reason(failure));
    }
  }

  private void checkEmpty(String option, Path path) throws IOException {
    if (!Files.isDirectory(path)) {
      throw Refusal.invalid(option, "'" + path + "' is not a directory");
    }
    try (Stream<Path> entries = Files.list(path)) {
      if (entries.findFirst().isPresent()) {
        throw Refusal.invalid(
            option,
            "directory '"
                + path
                + "' is not empty and no "
                + type
                + " file system: nothing is mounted over it");
      }
    }
  }

  /** Returns the nearest folder on the way to a path that there is. */
  private static Path existing(Path path) {
    Path existing = path;
    while (!Files.exists(existing, LinkOption.NOFOLLOW_LINKS)) {
      existing = existing.getParent();
    }
    return existing;
  }

  /**
   * Mounts the file system, unless it is mounted. What was created on the way is removed where it
   * cannot be mounted.
   *
   * @param option the option that names the path
   * @return whether it was not mounted before
   * @throws Refusal INVALID with the option, where nothing may be mounted at the path
   * @throws BindingsException where the kernel refuses
   * @throws IOException where a folder cannot be created
   */
  public boolean mount(String option, Path path) throws IOException {
    check(option, path);
    if (isMounted.test(path)) {
      return false;
    }
    final Deque<Path> created = new ArrayDeque<>();
    try {
      create(path, created);
      mounting.accept(path);
      return true;
    } catch (IOException | RuntimeException e) {
      for (final Path folder : created) {
        Files.deleteIfExists(folder);
      }
      throw e;
    }
  }

  private static void create(Path path, Deque<Path> created) throws IOException {
    final Deque<Path> missing = new ArrayDeque<>();
    for (Path folder = path; !Files.exists(folder); folder = folder.getParent()) {
      missing.push(folder);
    }
    for (final Path folder : missing) {
      Files.createDirectory(
          folder,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(OWNER_ONLY)));
      created.push(folder);
    }
  }
}
