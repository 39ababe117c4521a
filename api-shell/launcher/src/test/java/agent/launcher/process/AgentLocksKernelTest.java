package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.Commands;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A second agent is refused by each thing that it would share with the first one. */
@KernelTest
class AgentLocksKernelTest {
  private static final int IN_USE = 3;

  @TempDir private Path folder;
  private TestNode node;
  private AgentProcess first;

  @BeforeEach
  void startFirst() throws Exception {
    node = new TestNode();
    first = node.agent();
  }

  @AfterEach
  void stop() throws Exception {
    node.close();
  }

  @Test
  void shouldRefuseTheBpfRootOfAnotherAgentByAnyPathToIt() throws Exception {
    final TestWorkload workload = node.workload(first, "kept", "app=kept");
    final PinnedObjects before = PinnedObjects.below(node.bpfRoot());
    final Path bound = Files.createDirectory(folder.resolve("bound"));
    Commands.run("mount", "--bind", node.bpfRoot().toString(), bound.toString());
    try (NetworkNamespace other = NetworkNamespace.create("other")) {
      for (final Path root : List.of(node.bpfRoot(), bound)) {
        try (AgentProcess second = AgentProcess.start(other, folder.resolve("state"), root)) {
          refused(second, "bpf-root " + root + " is in use by another agent, process ");
        }
      }
    } finally {
      Commands.run("umount", bound.toString());
    }
    assertEquals(before, PinnedObjects.below(node.bpfRoot()));
    first.expect(200, "GET", "/endpoint/" + workload.id(), null);
  }

  @Test
  void shouldRefuseTheNetworkNamespaceOfAnotherAgent() throws Exception {
    final String routes = node.namespace().exec("ip", "route");
    try (TemporaryBpfFileSystem root = TemporaryBpfFileSystem.mount();
        AgentProcess second =
            AgentProcess.start(node.namespace(), folder.resolve("state"), root.path())) {
      refused(second, "network namespace is in use by another agent, process ");
    }
    assertEquals(routes, node.namespace().exec("ip", "route"));
  }

  @Test
  void shouldRefuseTheSocketOfAnotherAgent() throws Exception {
    try (NetworkNamespace other = NetworkNamespace.create("other");
        TemporaryBpfFileSystem root = TemporaryBpfFileSystem.mount()) {
      assertSocketRefused("process " + first.pid(), other, root);
    }
    first.expect(200, "GET", "/healthz", null);
  }

  /** A stopped process neither accepts nor answers, whether or not its queue has room. */
  @Test
  void shouldRefuseTheSocketOfAProcessThatIsStopped() throws Exception {
    final Object inode = Files.getAttribute(first.socket(), "unix:ino");
    first.suspend();
    final List<SocketChannel> queued = new ArrayList<>();
    try (NetworkNamespace other = NetworkNamespace.create("other");
        TemporaryBpfFileSystem root = TemporaryBpfFileSystem.mount()) {
      assertSocketRefused("process " + first.pid(), other, root);
      fillQueue(first.socket(), queued);
      assertSocketRefused("a process", other, root);
    } finally {
      first.resume();
      for (final SocketChannel one : queued) {
        one.close();
      }
    }
    assertEquals(inode, Files.getAttribute(first.socket(), "unix:ino"));
    first.expect(200, "GET", "/healthz", null);
  }

  /** Connects until the queue of the listener is full. */
  private static void fillQueue(Path socket, List<SocketChannel> queued) throws Exception {
    boolean hasRoom = true;
    while (hasRoom) {
      final SocketChannel one = SocketChannel.open(StandardProtocolFamily.UNIX);
      queued.add(one);
      one.configureBlocking(false);
      try {
        hasRoom = one.connect(UnixDomainSocketAddress.of(socket));
      } catch (SocketException full) {
        hasRoom = false; // EAGAIN
      }
      assertTrue(queued.size() < 10_000);
    }
  }

  private void assertSocketRefused(
      String owner, NetworkNamespace other, TemporaryBpfFileSystem root) throws Exception {
    try (AgentProcess second =
        AgentProcess.start(
            other,
            folder.resolve("state"),
            root.path(),
            "--socket-path",
            first.socket().toString())) {
      assertEquals(IN_USE, second.exitCode(), second.log());
      assertEquals(1, second.log().lines().count(), second.log());
      final String reason = "socket " + first.socket() + ": " + owner + " listens on it";
      assertTrue(second.log().contains(reason), second.log());
    }
  }

  @Test
  void shouldStartAfterTheFirstWasKilled() throws Exception {
    first.kill();
    node.agent().expect(200, "GET", "/healthz", null);
  }

  @Test
  void shouldStartWhileAnotherUserHoldsTheAddressOfTheNamespace() throws Exception {
    first.terminate();
    final Process stranger =
        new ProcessBuilder(
                node.namespace()
                    .inside(
                        "setpriv",
                        "--reuid=65533",
                        "--clear-groups",
                        "perl",
                        "-MSocket",
                        "-e",
                        "socket(S, AF_UNIX, SOCK_STREAM, 0) or die;"
                            + " bind(S, pack_sockaddr_un(\"\\0agent/network-namespace\")) or die;"
                            + " listen(S, 9) or die; $| = 1; print '.'; <STDIN>"))
            .start();
    try {
      assertEquals('.', stranger.getInputStream().read());
      final AgentProcess second = node.agent();
      assertTrue(
          second.log().contains("is held by process " + stranger.pid() + " of user 65533"),
          second.log());
    } finally {
      stranger.destroyForcibly().waitFor();
    }
  }

  private void refused(AgentProcess second, String start) throws Exception {
    assertEquals(IN_USE, second.exitCode(), second.log());
    assertEquals(1, second.log().lines().count(), second.log());
    assertTrue(second.log().contains("DaemonProcess: " + start + first.pid()), second.log());
    assertFalse(Files.exists(second.socket()), "the second agent has a socket");
    first.expect(200, "GET", "/healthz", null);
  }
}
