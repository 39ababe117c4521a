package agent.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A network namespace of one test, with loopback up; closing it removes the namespace and its
 * interfaces.
 */
public final class NetworkNamespace implements AutoCloseable {
  private static final int MOST_TRIES = 100;
  private static final AtomicInteger SERIAL = new AtomicInteger();
  private static final int LONGEST_MINUTES = 5;

  static {
    shareFolder();
  }

  private final String name;

  private NetworkNamespace(String name) {
    this.name = name;
  }

  /**
   * The first {@code ip netns add} of a machine mounts the folder over itself, with what is mounted
   * in it: namespaces that are there by then have two mounts, and cannot be removed. So it comes
   * before them; {@code ip} itself locks the folder.
   */
  private static void shareFolder() {
    final String probe = "folder-" + ProcessHandle.current().pid();
    Commands.run("ip", "netns", "add", probe);
    Commands.run("ip", "netns", "delete", probe);
  }

  /** Creates a namespace whose name begins with the stem and is unique on this machine. */
  public static NetworkNamespace create(String stem) {
    final NetworkNamespace namespace =
        new NetworkNamespace(
            stem + "-" + ProcessHandle.current().pid() + "-" + SERIAL.incrementAndGet());
    final Path file = Path.of(namespace.path());
    unchecked(
        () ->
            namespace.runOnThread(
                () -> {
                  Files.createDirectories(file.getParent());
                  Files.createFile(file);
                  SystemCalls.leaveNetworkNamespace();
                  SystemCalls.mountNetworkNamespace(file.toString());
                  SystemCalls.setUp("lo");
                  return null;
                }));
    return namespace;
  }

  /** Returns the name of the namespace for {@code ip netns}. */
  public String name() {
    return name;
  }

  /** Returns the path at which the namespace is mounted. */
  public String path() {
    return "/run/netns/" + name;
  }

  /**
   * Runs the work on a new thread inside the namespace and waits for it, at most some minutes.
   * Sockets that it opens and threads that it starts stay in the namespace.
   */
  public <T> T run(Callable<T> work) throws Exception {
    return runOnThread(
        () -> {
          enter();
          return work.call();
        });
  }

  private <T> T runOnThread(Callable<T> work) throws Exception {
    final FutureTask<T> task = new FutureTask<>(work);
    Thread.ofPlatform().name("in-" + name).daemon().start(task);
    return result(task);
  }

  /** Waits for work on another thread, at most some minutes, and throws what it has thrown. */
  static <T> T result(Future<T> task) throws Exception {
    try {
      return task.get(LONGEST_MINUTES, TimeUnit.MINUTES);
    } catch (ExecutionException failure) {
      if (failure.getCause() instanceof Exception cause) {
        throw cause;
      }
      if (failure.getCause() instanceof Error error) {
        throw error;
      }
      throw failure;
    }
  }

  /**
   * Does the same as {@link #run}, with an {@link IllegalStateException} in the place of a checked
   * exception.
   */
  public <T> T call(Callable<T> work) {
    return unchecked(() -> run(work));
  }

  static <T> T unchecked(Callable<T> work) {
    try {
      return work.call();
    } catch (RuntimeException failure) {
      throw failure;
    } catch (Exception failure) {
      throw new IllegalStateException(failure);
    }
  }

  /** Starts a daemon thread inside the namespace. */
  public Thread start(String threadName, Runnable work) {
    return Thread.ofPlatform().name(threadName).daemon().start(entering(work));
  }

  /** Returns the work, which a thread of its own does in the namespace. */
  Runnable entering(Runnable work) {
    return () -> {
      enter();
      work.run();
    };
  }

  /** Moves the calling thread into the namespace; the thread must not be used for other work. */
  private void enter() {
    SystemCalls.enterNetworkNamespace(path());
  }

  /** Runs a command in the namespace that must succeed, and returns its output. */
  public String exec(String... command) {
    return call(() -> Commands.run(command)); // a process is where the thread is that starts it
  }

  /**
   * Deletes the clsact qdisc of a device, which the kernel refuses while it serves a request for
   * its filters, such as one of the agent: then again.
   */
  public void deleteClsact(String device) {
    for (int tries = 1; ; tries++) {
      try {
        exec("tc", "qdisc", "del", "dev", device, "clsact");
        return;
      } catch (IllegalStateException refused) {
        if (tries == MOST_TRIES || !refused.getMessage().contains("ongoing filter requests")) {
          throw refused;
        }
      }
    }
  }

  /**
   * Runs commands of {@code ip} in the namespace, one after the other, which must succeed. Of one
   * call, routes with the name of a protocol stand before those with a number: {@code ip} takes the
   * same name after a number as that number.
   *
   * @param commands each with its arguments separated by single spaces; one alone may begin with
   *     options
   */
  public void ip(String... commands) {
    if (commands.length == 1) {
      exec(("ip " + commands[0]).split(" "));
    } else {
      call(() -> Commands.runWith(String.join("\n", commands) + '\n', "ip", "-batch", "-"));
    }
  }

  /**
   * Makes the stack complete the checksums of what it sends by an interface: a native XDP program
   * at the other end of a veth pair gets none that are left to the device.
   */
  public void completeChecksums(String interfaceName) throws Exception {
    run(
        () -> {
          SystemCalls.completeChecksums(interfaceName);
          return null;
        });
  }

  /** Runs a command in the namespace that may fail. */
  public Commands.Outcome attempt(String... command) {
    return call(() -> Commands.attempt(command));
  }

  /**
   * Returns the command line that runs the command in this namespace and in the mount namespace of
   * the caller.
   */
  public String[] inside(String... command) {
    final List<String> line = new ArrayList<>(List.of("nsenter", "--net=" + path(), "--"));
    line.addAll(List.of(command));
    return line.toArray(String[]::new);
  }

  @Override
  public void close() {
    SystemCalls.unmount(path());
    try {
      Files.delete(Path.of(path()));
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }
}
