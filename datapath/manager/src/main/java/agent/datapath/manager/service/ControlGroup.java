package agent.datapath.manager.service;

import agent.bindings.BindingsException;
import agent.bindings.bpf.CgroupFileSystem;
import agent.datapath.spec.MountPoint;
import agent.types.IoFailure;
import agent.types.Leftover;
import agent.types.OperationException;
import agent.types.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Finds the control group whose sockets the programs are attached to. */
public final class ControlGroup {
  private static final Logger LOGGER = LogManager.getLogger(ControlGroup.class);
  private static final Path MOUNTS = Path.of("/proc/self/mountinfo");
  private static final Path OWN_MOUNT = Path.of("/run/agent/cgroupv2");

  // proc_pid_mountinfo(5): the mount point is the fifth field, the type follows a single hyphen
  private static final int MOUNT_POINT = 4;
  private static final String TYPE = " - cgroup2 ";

  private ControlGroup() {}

  /**
   * Returns the control group that an option names, or else the root of the cgroup2 file system of
   * this machine; mounts one where there is none.
   *
   * @param named {@code --cgroup-root}; null where it is not set
   * @throws OperationException where none can be mounted, or may be at the path of the option
   */
  static Path find(Path named) {
    try {
      final Path group = named == null ? mounted() : named;
      if (MountPoint.CGROUP.mount("cgroup-root", group)) {
        LOGGER.info("control groups: a cgroup2 file system is mounted at {}", group);
      }
      return group;
    } catch (IOException failure) {
      throw new OperationException("control groups: " + IoFailure.reason(failure), failure);
    } catch (BindingsException | Refusal failure) {
      throw new OperationException("control groups: " + failure.getMessage(), failure);
    }
  }

  /**
   * Returns the file system of control groups that an agent has mounted at its own path, in a list
   * of one; an empty list where there is none.
   *
   * @throws OperationException where the mounts cannot be read
   */
  public static List<Leftover> leftovers() {
    try {
      return leftovers(Files.readAllLines(MOUNTS), OWN_MOUNT);
    } catch (IOException failure) {
      throw new OperationException("control groups: " + IoFailure.reason(failure), failure);
    }
  }

  /** Returns what is mounted at a path by the name of the agent. */
  static List<Leftover> leftovers(List<String> mounts, Path path) {
    return mounts.stream()
        .filter(line -> line.contains(TYPE + CgroupFileSystem.SOURCE + " "))
        .filter(line -> line.split(" ")[MOUNT_POINT].equals(path.toString()))
        .limit(1)
        .map(line -> new Leftover("control groups mounted at " + path, () -> unmount(path)))
        .toList();
  }

  private static void unmount(Path path) throws IOException {
    try {
      CgroupFileSystem.unmount(path);
    } catch (BindingsException failure) {
      throw new OperationException(failure.getMessage(), failure);
    }
    Files.deleteIfExists(path);
  }

  private static Path mounted() throws IOException {
    return find(Files.readAllLines(MOUNTS));
  }

  /** Returns the mount point of the first cgroup2 file system, or that of the agent's own one. */
  static Path find(List<String> mounts) {
    return mounts.stream()
        .filter(line -> line.contains(TYPE))
        .map(line -> Path.of(line.split(" ")[MOUNT_POINT]))
        .findFirst()
        .orElse(OWN_MOUNT);
  }
}
