package agent.launcher;

import agent.bindings.BindingsException;
import agent.bindings.DirectoryLock;
import agent.bindings.ListenerProbe;
import agent.bindings.NamespaceLock;
import agent.bindings.PeerCredentials;
import agent.datapath.manager.attach.Pins;
import agent.types.AlreadyInUseException;
import agent.types.IoFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The locks of what two agents on one node would share besides the state directory and the socket:
 * the pins under the BPF root and the devices of the network namespace. The kernel releases them
 * when the process ends.
 */
final class NodeLocks implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(NodeLocks.class);
  private static final Path LOCKS = Path.of("/proc/locks");
  private static final String NAMESPACE_NAME = "agent/network-namespace";
  private static final int NAMESPACE_TRIES = 50;
  private static final long NAMESPACE_WAIT_MS = 20;
  private static final int ROOT = 0;

  /** The number of a process in another process namespace. */
  private static final int UNSEEN = 0;

  private final DirectoryLock bpfRoot;
  private final Optional<NamespaceLock> namespace;

  private NodeLocks(DirectoryLock bpfRoot, Optional<NamespaceLock> namespace) {
    this.bpfRoot = bpfRoot;
    this.namespace = namespace;
  }

  /**
   * Takes both locks. Creates the folder of the pins, and mounts the BPF file system, where they
   * are missing; changes nothing else.
   *
   * @param bpfRoot {@code --bpf-root}
   * @throws AlreadyInUseException where another agent holds one of them
   * @throws BindingsException where the kernel refuses a lock
   */
  static NodeLocks take(Path bpfRoot) throws InterruptedException {
    final Path pins = Pins.folder(bpfRoot);
    final DirectoryLock lock =
        DirectoryLock.tryTake(pins).orElseThrow(() -> inUse("bpf-root " + bpfRoot, holderOf(pins)));
    try {
      return new NodeLocks(lock, takeNamespace());
    } catch (RuntimeException | InterruptedException e) {
      lock.close();
      throw e;
    }
  }

  /**
   * Takes the lock of the network namespace. Every user may bind its address: the lock counts only
   * where root holds it, so that no other user can keep the agent from starting.
   */
  private static Optional<NamespaceLock> takeNamespace() throws InterruptedException {
    for (int tries = 0; tries < NAMESPACE_TRIES; tries++) {
      final Optional<NamespaceLock> lock = NamespaceLock.tryTake(NAMESPACE_NAME);
      if (lock.isPresent()) {
        return lock;
      }
      final ListenerProbe holder = NamespaceLock.holder(NAMESPACE_NAME);
      if (holder.isListening()) {
        return heldBy(holder.process());
      }
      Thread.sleep(NAMESPACE_WAIT_MS); // it has just ended, or does not listen yet
    }
    return withoutNamespace("a process holds it that does not listen");
  }

  private static Optional<NamespaceLock> heldBy(Optional<PeerCredentials> process) {
    if (process.isPresent() && process.get().uid() != ROOT) {
      return withoutNamespace(
          "process " + process.get().pid() + " of user " + process.get().uid() + " holds it");
    }
    final int pid = process.map(PeerCredentials::pid).orElse(UNSEEN);
    throw inUse("network namespace", pid == UNSEEN ? OptionalLong.empty() : OptionalLong.of(pid));
  }

  private static Optional<NamespaceLock> withoutNamespace(String why) {
    LOGGER.warn(
        "the Unix socket address @{} is taken: {}; a second agent in this network namespace"
            + " would not be noticed",
        NAMESPACE_NAME,
        why);
    return Optional.empty();
  }

  private static AlreadyInUseException inUse(String what, OptionalLong pid) {
    return new AlreadyInUseException(
        what
            + " is in use by another agent"
            + (pid.isPresent() ? ", process " + pid.getAsLong() : ""));
  }

  /** Finds the process that holds the lock of a directory; empty where it cannot be seen. */
  private static OptionalLong holderOf(Path directory) {
    try {
      final long device = (Long) Files.getAttribute(directory, "unix:dev");
      final long inode = (Long) Files.getAttribute(directory, "unix:ino");
      return holder(Files.readAllLines(LOCKS), device, inode);
    } catch (IOException e) {
      LOGGER.debug("{}: {}", LOCKS, IoFailure.reason(e));
      return OptionalLong.empty();
    }
  }

  /**
   * Finds the holder in {@code /proc/locks} (proc_locks(5)): {@code 1: FLOCK ADVISORY WRITE 123
   * 00:1f:15 0 EOF}.
   *
   * @param device number of the device as stat(2) returns it
   */
  static OptionalLong holder(List<String> locks, long device, long inode) {
    final long major = (device >> 8) & 0xfff | (device >> 32) & 0xfffff000L;
    final long minor = device & 0xff | (device >> 12) & 0xffffff00L;
    final String file = "%02x:%02x:%d".formatted(major, minor, inode);
    for (final String line : locks) {
      final String[] fields = line.strip().split(" +");
      if (fields.length > 5 && fields[1].equals("FLOCK") && fields[5].equals(file)) {
        return OptionalLong.of(Long.parseLong(fields[4]));
      }
    }
    return OptionalLong.empty();
  }

  @Override
  public void close() {
    namespace.ifPresent(NamespaceLock::close);
    bpfRoot.close();
  }
}
