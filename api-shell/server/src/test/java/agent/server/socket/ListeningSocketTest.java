package agent.server.socket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.OtherThread;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A socket whose file is made again while the agent ends. */
class ListeningSocketTest {
  @TempDir private Path directory;

  /** Otherwise an agent that has ended would leave a file that no one listens on. */
  @Test
  void shouldLeaveNoFileThatIsMadeAgainAtTheEnd() throws Exception {
    final Path file = directory.resolve("api.sock");
    final ListeningSocket socket = new ListeningSocket("API", file, null);
    Files.delete(file);
    final List<OtherThread<Void>> others = new ArrayList<>();
    final List<Boolean> waiting = new ArrayList<>();
    socket.restore(
        next -> {
          assertEquals(next, socket.channel());
          others.add(
              OtherThread.call(
                  () -> {
                    socket.close();
                    return null;
                  }));
          waiting.add(others.getFirst().waits());
        });
    others.getFirst().result();
    assertEquals(List.of(true), waiting);
    assertEquals(Optional.empty(), socket.fault());
    assertFalse(socket.channel().isOpen());
    assertFalse(Files.exists(file));
    socket.restore(next -> waiting.add(false));
    assertEquals(List.of(true), waiting, "it is not made again");
    assertTrue(Files.notExists(file));
  }
}
