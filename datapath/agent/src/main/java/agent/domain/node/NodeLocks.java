package agent.domain.node;

import agent.bindings.BindingsException;
import agent.bindings.net.ListenerProbe;
import agent.bindings.net.NamespaceLock;
import agent.bindings.net.PeerCredentials;
import agent.bindings.process.DirectoryLock;
import agent.datapath.programs.attach.Pins;
import agent.types.AlreadyInUseException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The locks of what two agents on one node would share besides the state directory and the socket:
 * the pins under the BPF root and the devices of the network namespace. The kernel releases them
 * when the process ends.
 */
public final class NodeLocks implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(NodeLocks.class);
  private static final String NAMESPACE_NAME = "agent/network-namespace";
  private static final int NAMESPACE_TRIES = 50;
  private static final long NAMESPACE_WAIT_MS = 20;
  private static final int ROOT = 0;

  /** The number of a process in another process namespace. */
  private static final int UNSEEN = 0;

  private final Optional<DirectoryLock> bpfRoot;
  private final Optional<NamespaceLock> namespace;

  private NodeLocks(Optional<DirectoryLock> bpfRoot, Optional<NamespaceLock> namespace) {
    this.bpfRoot = bpfRoot;
    this.namespace = namespace;
  }

  /**
   * Acquires both locks. Creates the folder of the pins, and mounts the BPF file system, where they
   * are missing; changes nothing else.
   *
   * @param bpfRoot {@code --bpf-root}
   * @throws AlreadyInUseException where another agent holds one of them
   * @throws BindingsException where the kernel refuses a lock
   */
  public static NodeLocks take(Path bpfRoot) throws InterruptedException {
    return take(bpfRoot, Pins.folder(bpfRoot));
  }

  private static NodeLocks take(Path bpfRoot, Path pins) throws InterruptedException {
    final DirectoryLock lock =
        DirectoryLock.tryTake(pins)
            .orElseThrow(() -> inUse("bpf-root " + bpfRoot, LockTable.holder(pins)));
    try {
      return new NodeLocks(Optional.of(lock), takeNamespace());
    } catch (RuntimeException | InterruptedException e) {
      lock.close();
      throw e;
    }
  }

  /**
   * Acquires both locks where an agent has ever run, and creates and changes nothing.
   *
   * @param bpfRoot {@code --bpf-root}
   * @throws AlreadyInUseException where an agent holds one of them
   */
  public static NodeLocks takeExisting(Path bpfRoot) throws InterruptedException {
    final Path pins = Pins.folderOf(bpfRoot);
    if (!Files.isDirectory(pins, LinkOption.NOFOLLOW_LINKS)) {
      return new NodeLocks(Optional.empty(), takeNamespace());
    }
    return take(bpfRoot, pins);
  }

  /**
   * Acquires the lock of the network namespace. Every user may bind its address: the lock counts
   * only where root holds it, so that no other user can keep the agent from starting.
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
    return withoutNamespace("held by a process that does not listen");
  }

  private static Optional<NamespaceLock> heldBy(Optional<PeerCredentials> process) {
    if (process.isPresent() && process.get().uid() != ROOT) {
      return withoutNamespace(
          "held by process " + process.get().pid() + " of user " + process.get().uid());
    }
    final int pid = process.map(PeerCredentials::pid).orElse(UNSEEN);
    throw inUse("network namespace", pid == UNSEEN ? OptionalLong.empty() : OptionalLong.of(pid));
  }

  private static Optional<NamespaceLock> withoutNamespace(String why) {
    LOGGER.warn(
        "lock of the network namespace not acquired: Unix socket address @{} is {}; a second"
            + " agent in this network namespace would not be detected",
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

  @Override
  public void close() {
    namespace.ifPresent(NamespaceLock::close);
    bpfRoot.ifPresent(DirectoryLock::close);
  }
}
