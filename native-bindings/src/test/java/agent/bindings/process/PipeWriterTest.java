package agent.bindings.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.BindingsException;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Messages through the pipes of a process that sends back what it reads. */
@Timeout(30)
class PipeWriterTest {
  private static final int PIPE_BYTES = 64 * 1024; // pipe(7)

  private Process process;
  private PipeWriter pipe;

  @BeforeEach
  void start() throws IOException {
    process = new ProcessBuilder("cat").start();
    pipe = PipeWriter.open(Path.of("/proc", Long.toString(process.pid()), "fd", "0"));
  }

  @AfterEach
  void end() throws Exception {
    pipe.close();
    process.destroyForcibly().waitFor();
  }

  private void signal(String name) throws Exception {
    assertEquals(0, new ProcessBuilder("kill", "-" + name, "" + process.pid()).start().waitFor());
  }

  @Test
  void shouldWriteWhatTheProcessReads() throws Exception {
    assertTrue(pipe.write(new byte[] {1, 2, 3}));
    assertTrue(pipe.write(new byte[] {4}));
    for (int i = 1; i <= 4; i++) {
      assertEquals(i, process.getInputStream().read());
    }
  }

  @Test
  void shouldWriteNothingOfWhatHasNoRoom() throws Exception {
    signal("STOP");
    final byte[] message = new byte[PipeWriter.LONGEST - 1]; // the last one has room in part
    int written = 0;
    while (pipe.write(message)) {
      written++;
      assertTrue(written <= PIPE_BYTES / message.length, "it does not fill");
    }
    assertFalse(pipe.write(message));
    signal("CONT");
    pipe.close();
    process.getOutputStream().close();
    assertEquals(written * message.length, process.getInputStream().readAllBytes().length);
  }

  @Test
  void shouldRefuseWhatNoProcessReadsAndWhatIsTooLong() throws Exception {
    final byte[] tooLong = new byte[PipeWriter.LONGEST + 1];
    assertThrows(IllegalArgumentException.class, () -> pipe.write(tooLong));
    process.destroyForcibly().waitFor();
    final BindingsException gone =
        assertThrows(BindingsException.class, () -> pipe.write(new byte[1]));
    assertTrue(gone.getMessage().startsWith("write to a pipe"), gone.getMessage());
  }

  @Test
  void shouldNameWhatCannotBeOpened() {
    final Path none = Path.of("/proc/self/fd/none");
    final BindingsException failure =
        assertThrows(BindingsException.class, () -> PipeWriter.open(none));
    assertTrue(failure.getMessage().contains("open " + none), failure.getMessage());
  }
}
