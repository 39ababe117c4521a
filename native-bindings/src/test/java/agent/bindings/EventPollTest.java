package agent.bindings;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.net.PeerCredentials;
import agent.testkit.HeapAllocation;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class EventPollTest {
  private static final Path OPEN_DESCRIPTORS = Path.of("/proc/self/fd");
  private static final int LONGEST_MS = 60_000;

  @Test
  void shouldReportADescriptorAsLongAsItHasInput() throws Exception {
    try (Pair pair = Pair.open();
        EventPoll poll = new EventPoll()) {
      poll.add(pair.acceptedFd());
      assertEquals(0, poll.await(0));
      pair.client().write(ByteBuffer.wrap(new byte[1]));
      assertEquals(1, poll.await(1000));
      assertEquals(1, pair.accepted().read(ByteBuffer.allocate(1)));
      assertEquals(0, poll.await(0));
    }
  }

  @Test
  void shouldReturnWhenItIsWokenUp() throws Exception {
    try (EventPoll poll = new EventPoll()) {
      final Thread waker =
          Thread.ofPlatform()
              .start(
                  () -> {
                    poll.wakeUp();
                    poll.wakeUp();
                  });
      final long start = System.nanoTime();
      assertEquals(0, poll.await(LONGEST_MS));
      assertTrue(System.nanoTime() - start < LONGEST_MS * 1_000_000L, "it was woken up");
      waker.join(LONGEST_MS);
      poll.await(0);
      assertEquals(0, poll.await(0));
    }
  }

  @Test
  void shouldIgnoreAWakeUpAfterItWasClosed() {
    final EventPoll poll = new EventPoll();
    poll.close();
    poll.close();
    assertDoesNotThrow(poll::wakeUp);
  }

  @Test
  void shouldAllocateNothing() {
    try (EventPoll poll = new EventPoll()) {
      final Runnable work =
          () -> {
            poll.wakeUp();
            poll.await(0);
            poll.await(0);
          };

      assertEquals(0, HeapAllocation.steady(20_000, work));
    }
  }

  @Test
  void shouldReturnTheProcessIdOfThePeer() throws Exception {
    try (Pair pair = Pair.open()) {
      final PeerCredentials credentials = PeerCredentials.of(pair.acceptedFd());

      assertEquals(ProcessHandle.current().pid(), credentials.pid());
      assertEquals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"), credentials.uid());
      assertEquals(Files.getAttribute(Path.of("/proc/self"), "unix:gid"), credentials.gid());
    }
  }

  @Test
  void shouldIgnoreANegativeDescriptor() {
    assertEquals(0, Descriptors.close(-1));
    assertEquals(-Errno.EBADF, Descriptors.close(1_000_000));
  }

  /** A connected pair of Unix sockets, and the descriptor number of the accepted one. */
  private record Pair(Path path, SocketChannel client, SocketChannel accepted, int acceptedFd)
      implements AutoCloseable {
    static Pair open() throws Exception {
      final Path path = Files.createTempDirectory("agent-poll-").resolve("socket");
      try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
        server.bind(UnixDomainSocketAddress.of(path));
        final SocketChannel client = SocketChannel.open(UnixDomainSocketAddress.of(path));
        final Set<Integer> before = openSockets();
        final SocketChannel accepted = server.accept();
        final Set<Integer> opened = openSockets();
        opened.removeAll(before);
        final int fd = opened.iterator().next();
        return new Pair(path, client, accepted, fd);
      }
    }

    private static Set<Integer> openSockets() throws IOException {
      try (var files = Files.list(OPEN_DESCRIPTORS)) {
        return files
            .map(file -> Integer.valueOf(file.getFileName().toString()))
            .filter(Pair::isSocket)
            .collect(Collectors.toCollection(HashSet::new));
      }
    }

    private static boolean isSocket(int fd) {
      try {
        return Files.readSymbolicLink(OPEN_DESCRIPTORS.resolve(Integer.toString(fd)))
            .toString()
            .startsWith("socket:");
      } catch (IOException e) {
        return false;
      }
    }

    @Override
    public void close() throws IOException {
      client.close();
      accepted.close();
      Files.delete(path);
      Files.delete(path.getParent());
    }
  }
}
